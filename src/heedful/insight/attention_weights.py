"""The attention weights of any model of ours, from an ordinary forward pass.

Every attention module has beside its fast `forward` a readable `weights` of the same arguments. While a model is
watched, `weights` is called with exactly what `forward` is called with: the pass itself stays the fused one, and a
model that nobody watches knows nothing of this. Tests hold the two equal, module by module.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from heedful.models.transformer import Transformer
from heedful.nn.layers import DecoderLayer, EncoderLayer

Kind = Literal["encoder", "decoder", "cross"]
KINDS: tuple[Kind, ...] = ("encoder", "decoder", "cross")
"""The three uses of attention (section 3.2.3 of the paper): in the encoder, in the decoder, from decoder to encoder."""

Floats = NDArray[np.float32]


@contextmanager
def watch_attention(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Collect the weights of every attention module of `model`, by its name, [batch, heads, query_len, key_len] each.

    The dictionary fills while the model's `forward` runs inside the block; a second pass replaces the first. What other
    threads do with the model in the meantime is not collected.
    """
    found: dict[str, Tensor] = {}
    watcher = threading.get_ident()

    def listener(name: str) -> Any:
        def note(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if threading.get_ident() == watcher:
                found[name] = module.weights(*args, **kwargs).detach()

        return note

    handles = [
        module.register_forward_pre_hook(listener(name), with_kwargs=True)
        for name, module in model.named_modules()
        if callable(getattr(module, "weights", None))
    ]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


def attention_modules(model: Transformer) -> dict[Kind, list[nn.Module]]:
    """Return the attention modules of a Transformer by use, first layer first."""
    encoder = [cast(EncoderLayer, layer) for layer in model.encoder.layers]
    decoder = [cast(DecoderLayer, layer) for layer in model.decoder.layers]
    return {
        "encoder": [layer.self_attention for layer in encoder],
        "decoder": [layer.self_attention for layer in decoder],
        "cross": [layer.cross_attention for layer in decoder],
    }


@torch.no_grad()
def forced_pass(
    model: Transformer, source_ids: Tensor, source_mask: Tensor | None, input_ids: Tensor
) -> tuple[Tensor, dict[Kind, Tensor]]:
    """Let a model read source_ids [batch, source_len] beside input_ids [batch, target_len], the output shifted right.

    Returns the log-probabilities of each next token, [batch, target_len, vocab], and the weights of each use,
    [layers, batch, heads, query_len, key_len].
    """
    with watch_attention(model) as found:
        log_probs = model(source_ids, source_mask, input_ids).float().log_softmax(dim=-1)
    names = {module: name for name, module in model.named_modules()}
    weights: dict[Kind, Tensor] = {
        kind: torch.stack([found[names[module]] for module in modules])
        for kind, modules in attention_modules(model).items()
    }
    return log_probs, weights


def entropy(weights: Floats) -> Floats:
    """Say how widely each head looks: the mean entropy of its rows in bits, [layers, heads].

    weights [layers, heads, query_len, key_len]. 0 is one token at a time; log2 of the number of keys is all alike.
    """
    logs = np.log2(weights, where=weights > 0, out=np.zeros_like(weights))
    bits: Floats = -(weights * logs).sum(axis=-1).mean(axis=-1)
    return np.maximum(bits, 0.0)  # not -0.0


def reach(weights: Floats) -> Floats:
    """Say how far back each head looks: the mean distance in tokens, [layers, heads].

    weights [layers, heads, query_len, key_len], of attention that looks back only; the last query stands at the last
    key, so that keys before the first query are a memory.
    """
    query_len, key_len = weights.shape[-2:]
    distances = np.arange(query_len)[:, None] + (key_len - query_len) - np.arange(key_len)[None]
    mean: Floats = (weights * distances).sum(axis=-1).mean(axis=-1)
    return mean
