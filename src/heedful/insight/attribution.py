"""Which source tokens a translation rests on: gradient × input.

The attribution of written token t to source token s is the derivative of log p(t | what came before, source) along the
embedding of s: how fast the log-probability would grow if that embedding were made longer. It follows every path
through the network, the values and the residual stream too, where attention weights show one. It is linear: it says
what a small change would do, not what leaving the word out would.
"""

from dataclasses import dataclass

import numpy as np
import torch

from heedful.insight.attention_weights import Floats
from heedful.insight.trace import Trace
from heedful.models.transformer import Transformer
from heedful.tasks.device import on_one_thread


@dataclass(frozen=True)
class Attribution:
    """How the log-probability of a translation rests on the tokens of its source; signs are kept."""

    by_token: Floats
    """One row for each written token, one column for each source token, [target_len, source_len]."""

    @property
    def total(self) -> Floats:
        """The attribution of the whole translation, [source_len]: the sum of the rows."""
        summed: Floats = self.by_token.sum(axis=0)
        return summed


@on_one_thread()
def attribute(model: Transformer, trace: Trace) -> Attribution:
    """Attribute a traced translation to its source; `model` is the translator's `readable_model`."""
    device = next(model.parameters()).device
    source_ids = torch.tensor([[token.id for token in trace.source_tokens]], device=device)
    input_ids = torch.tensor([[token.id for token in trace.input_tokens]], device=device)
    output_ids = torch.tensor([[token.id for token in trace.target_tokens]], device=device)
    with torch.enable_grad():
        vectors = model.source_embedding(source_ids).detach().requires_grad_()  # [batch, source_len, dim]
        memory = model.encoder(model.source_positions(vectors), None)
        log_probs = model.project(model.decode(input_ids, memory, None)).log_softmax(dim=-1)
        chosen = log_probs.gather(2, output_ids.unsqueeze(-1))[0, :, 0]  # [target_len]
        rows = [
            torch.autograd.grad(log_prob, vectors, retain_graph=True)[0].mul(vectors.detach()).sum(dim=-1)[0]
            for log_prob in chosen
        ]
    return Attribution(np.stack([row.float().cpu().numpy() for row in rows]))
