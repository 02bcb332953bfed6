"""One cell of an attention map opened up: equation 1 of the paper, number by number.

From the query and the key to their product, the scale, the mask and the softmax. Nothing here is stored in a trace: the
pass is made again, and the numbers are those of the readable form of attention.
"""

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import nn

from heedful.errors import UserError
from heedful.insight.attention_weights import Floats, Kind, attention_modules
from heedful.insight.forced_pair import ForcedPair
from heedful.models.transformer import Transformer
from heedful.nn.attention import MultiHeadAttention, MultiHeadSelfAttention


@dataclass(frozen=True)
class AttentionCell:
    """How position `row` of one head came to its weight on position `column`."""

    query: Floats
    """What the row asks, [head_dim]."""

    key: Floats
    """What the column answers, [head_dim]."""

    product: float
    """q · k."""

    scaled: float
    """q · k / √d_k."""

    row_scores: Floats
    """The scaled products of the whole row, [key_len]; -inf where the mask lets nothing through."""

    row_weights: Floats
    """Their softmax, [key_len]: the row of the map."""

    weight: float
    """The cell itself."""


@torch.no_grad()
def open_cell(
    model: Transformer, pair: ForcedPair, kind: Kind, *, layer: int, head: int, row: int, column: int
) -> AttentionCell:
    """Compute one cell of `trace.attention(kind, layer, head)` step by step; `model` is the `readable_model`."""
    source_ids, input_ids = pair.source_ids, pair.input_ids
    num_rows = len(source_ids if kind == "encoder" else input_ids)
    num_columns = len(input_ids if kind == "decoder" else source_ids)
    for name, value, count in (
        ("layer", layer, len(attention_modules(model)[kind])),
        ("head", head, model.num_heads),
        ("row", row, num_rows),
        ("column", column, num_columns),
    ):
        if not 0 <= value < count:
            raise UserError(f"`{name}` must be between 0 and {count - 1}, but is {value}.")
    query, key = _queries_and_keys(model, source_ids, input_ids, kind, layer)
    asks, answers = query[head, row], key[head]
    scores = answers @ asks / math.sqrt(len(asks))
    if kind == "decoder":
        scores[row + 1 :] = -np.inf  # what is not written yet
    exponentials = np.exp(scores - scores.max())
    weights = exponentials / exponentials.sum()
    product = float(answers[column] @ asks)
    return AttentionCell(
        query=asks,
        key=answers[column],
        product=product,
        scaled=product / math.sqrt(len(asks)),
        row_scores=scores,
        row_weights=weights,
        weight=float(weights[column]),
    )


def _queries_and_keys(
    model: Transformer, source_ids: Sequence[int], input_ids: Sequence[int], kind: Kind, layer: int
) -> tuple[Floats, Floats]:
    """Run the pass and return the queries and keys of one module, [heads, length, head_dim] each."""
    device = next(model.parameters()).device
    module = attention_modules(model)[kind][layer]
    reader, given = threading.get_ident(), list[Any]()

    def note(_: nn.Module, args: tuple[Any, ...]) -> None:
        if threading.get_ident() == reader:
            given.append(args)

    handle = module.register_forward_pre_hook(note)
    try:
        model(
            torch.tensor([list(source_ids)], device=device),
            None,
            torch.tensor([list(input_ids)], device=device),
        )
    finally:
        handle.remove()
    if kind == "cross":
        cross = cast(MultiHeadAttention, module)
        query, (key, _) = cross.project_query(given[0][0]), cross.project_key_value(given[0][1])
    else:
        query, key, _ = cast(MultiHeadSelfAttention, module).project(given[0][0])
    return query[0].float().cpu().numpy(), key[0].float().cpu().numpy()
