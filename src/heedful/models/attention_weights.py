"""The attention weights of any model of ours, from an ordinary forward pass.

Every attention module has beside its fast `forward` a readable `weights` of the same arguments. While a model is
watched, `weights` is called with exactly what `forward` is called with: the pass itself stays the fused one, and a
model that nobody watches knows nothing of this. Tests hold the two equal, module by module.
"""

import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from heedful.errors import UserError
from heedful.models.interfaces import AttentionUse, EncoderDecoder

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


def uses_by_name(model: EncoderDecoder) -> dict[str, list[AttentionUse]]:
    """Return the attentions of a model by what they are called, first layer first."""
    uses: dict[str, list[AttentionUse]] = {}
    for use in model.attention_uses():
        uses.setdefault(use.name, []).append(use)
    return uses


def find_use(model: EncoderDecoder, name: str, layer: int, head: int) -> AttentionUse:
    """Return one attention of a model; refuse a name, a layer or a head that it does not have."""
    uses = uses_by_name(model)
    check_name(name, uses)
    check_place(("layer", layer, len(uses[name])), ("head", head, uses[name][0].module.num_heads))
    return uses[name][layer]


def check_name(name: str, known: Collection[str]) -> None:
    """Refuse a use that a model does not have, and name those it has."""
    if not known:
        raise UserError("`kind` must name an attention of the model, but the model has none.")
    if name not in known:
        *some, last = (f'"{one}"' for one in known)
        # Not what was given: it may come from anybody, and be anything.
        raise UserError(f"`kind` must be {' or '.join(filter(None, [', '.join(some), last]))}.")


def check_place(*places: tuple[str, int, int]) -> None:
    """Refuse a number, given with its name and its count, that is not there."""
    for name, value, count in places:
        if not 0 <= value < count:
            raise UserError(f"`{name}` must be between 0 and {count - 1}, but is {value}.")


@torch.no_grad()
def forced_pass(
    model: EncoderDecoder, source_ids: Tensor, source_mask: Tensor | None, input_ids: Tensor
) -> tuple[Tensor, dict[str, Tensor]]:
    """Let a model read source_ids [batch, source_len] beside input_ids [batch, target_len], the output shifted right.

    Returns the log-probabilities of each next token, [batch, target_len, vocab], and the weights of each use,
    [layers, batch, heads, query_len, key_len].
    """
    with watch_attention(model) as found:
        log_probs = model(source_ids, source_mask, input_ids).float().log_softmax(dim=-1)
    names = {module: name for name, module in model.named_modules()}
    weights = {
        name: torch.stack([found[names[cast(nn.Module, use.module)]] for use in uses])
        for name, uses in uses_by_name(model).items()
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
