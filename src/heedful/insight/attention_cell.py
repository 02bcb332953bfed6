"""One cell of an attention map opened up, number by number: what is compared, the score, the mask and the softmax.

Nothing here is stored in a trace: the pass is made again, and the attention module itself says how it came to its
weight (`explain_score`), in the readable form. This file knows no formula.
"""

import threading
from typing import Any, cast

import torch
from torch import nn

from heedful.insight.forced_pair import ForcedPair
from heedful.models.attention_weights import check_place, find_use
from heedful.models.interfaces import EncoderDecoder
from heedful.nn.attention import ScoreExplanation


@torch.no_grad()
def open_cell(
    model: EncoderDecoder, pair: ForcedPair, kind: str, *, layer: int, head: int, row: int, column: int
) -> ScoreExplanation:
    """Compute one cell of `trace.attention(kind, layer, head)` step by step; `model` is the `readable_model`."""
    use = find_use(model, kind, layer, head)
    lengths = {"source": len(pair.source_tokens), "target": len(pair.input_tokens)}
    check_place(("row", row, lengths[use.looks_from]), ("column", column, lengths[use.looks_at]))
    args, kwargs = _given_to(cast(nn.Module, use.module), model, pair)
    return use.module.explain_score(*args, head=head, row=row, column=column, **kwargs)


def _given_to(module: nn.Module, model: EncoderDecoder, pair: ForcedPair) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Run the pass and return what one module was called with."""
    device = next(model.parameters()).device
    reader, given = threading.get_ident(), list[tuple[tuple[Any, ...], dict[str, Any]]]()

    def note(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if threading.get_ident() == reader:
            given.append((args, kwargs))

    handle = module.register_forward_pre_hook(note, with_kwargs=True)
    try:
        model(torch.tensor([pair.source_ids], device=device), None, torch.tensor([pair.input_ids], device=device))
    finally:
        handle.remove()
    return given[0]
