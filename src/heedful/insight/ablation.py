"""What a head or a layer is good for: switch it off, and see what becomes of the translation (Michel et al., 2019).

Parts are switched off from outside, by hooks that exist only inside a `with` block: the model's code has no place where
a head could be masked, and pays nothing for it. What a head found enters the model through its slice of W^O, so a head
is off when its part of what W^O reads is zero. A layer is off when its sub-layers add nothing to the residual stream.
"""

import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import torch
from torch import Tensor, nn

from heedful.errors import UserError
from heedful.insight.attention_weights import KINDS, Floats, Kind, attention_modules
from heedful.insight.forced_pair import ForcedPair
from heedful.insight.trace import forced_log_probs
from heedful.models.transformer import Transformer
from heedful.nn.attention import MultiHeadAttention, MultiHeadSelfAttention
from heedful.nn.layers import DecoderLayer, EncoderLayer
from heedful.tasks.device import on_one_thread
from heedful.tasks.translation.translator import Translator
from heedful.text.lines import one_line

Stack = Literal["encoder", "decoder"]


@dataclass(frozen=True)
class Head:
    """One head: its use, its layer and its number, counted from 0."""

    kind: Kind
    layer: int
    head: int


@dataclass(frozen=True)
class Layer:
    """One layer of a stack, counted from 0."""

    stack: Stack
    layer: int


Part = Head | Layer


@dataclass(frozen=True)
class Ablation:
    """What the model does without some of its parts."""

    text: str
    """What it writes now."""

    score: float
    log_prob: float
    """Of what it writes now."""

    old_log_prob: float
    """What it now gives to the translation it wrote when whole."""

    change: float
    """`old_log_prob` less what the whole model gave it: below 0, the parts were of use."""


@contextmanager
def switched_off(model: Transformer, parts: Collection[Part]) -> Iterator[None]:
    """Run a model without some of its parts, in `forward` and in a search alike; for other threads it stays whole."""
    handles = [handle for part in parts for handle in _switch_off(model, part)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@on_one_thread()
def ablate(
    translator: Translator, pair: ForcedPair, parts: Collection[Part], *, beam_size: int | None = None
) -> Ablation:
    """Translate a traced sentence once more without `parts`, and ask what they did for the old translation.

    What the old translation was made to begin with, the new one begins with, too.
    """
    model, tokenizer = translator.readable_model, translator.tokenizer
    for part in parts:
        _check(model, part)
    output_ids = pair.output_ids

    def log_prob() -> float:
        log_probs, _ = forced_log_probs(translator, model, pair.source_ids, output_ids)
        return float(log_probs[range(len(output_ids)), output_ids].sum())

    whole = log_prob()
    with switched_off(model, parts):
        found = translator.with_model(model).hypothesis(
            pair.source_ids, beam_size=beam_size, prefix_ids=output_ids[: pair.num_forced]
        )
        old = log_prob()
    text = one_line(tokenizer.decode_target(found.token_ids))
    return Ablation(text, found.score, found.log_prob, old, old - whole)


@on_one_thread()
@torch.no_grad()
def head_changes(
    translator: Translator, pair: ForcedPair, *, before_pass: Callable[[], None] = lambda: None
) -> dict[Kind, Floats]:
    """Switch off every head by itself: how the log-probability of the translation changes, [layers, heads] by use.

    `before_pass` is called before every pass of the model, one for each head; it may raise.
    """
    model = translator.readable_model
    device = next(model.parameters()).device
    source_ids = torch.tensor([pair.source_ids], device=device)
    input_ids = torch.tensor([pair.input_ids], device=device)
    output_ids = torch.tensor(pair.output_ids, device=device)

    def log_prob(memory: Tensor) -> float:
        before_pass()
        log_probs = model.project(model.decode(input_ids, memory, None))[0].float().log_softmax(dim=-1)
        return float(log_probs.gather(1, output_ids.unsqueeze(1)).sum())

    memory = model.encode(source_ids, None)
    whole = log_prob(memory)
    changes: dict[Kind, Floats] = {}
    for kind in KINDS:
        changes[kind] = np.zeros((len(attention_modules(model)[kind]), model.num_heads), dtype=np.float32)
        for layer, head in np.ndindex(*changes[kind].shape):
            with switched_off(model, [Head(kind, layer, head)]):
                # The decoder's heads leave the encoder's output as it is.
                changes[kind][layer, head] = (
                    log_prob(model.encode(source_ids, None) if kind == "encoder" else memory) - whole
                )
    return changes


def _switch_off(model: Transformer, part: Part) -> list[Any]:
    """Hang up the hooks for one part."""
    if isinstance(part, Head):
        attention = cast(MultiHeadAttention | MultiHeadSelfAttention, attention_modules(model)[part.kind][part.layer])
        width = model.dim // attention.num_heads
        return [attention.output.register_forward_pre_hook(_without(slice(part.head * width, (part.head + 1) * width)))]
    layer = cast(EncoderLayer | DecoderLayer, _layers(model, part.stack)[part.layer])
    last = [layer.self_attention.output, layer.feed_forward.contract]
    if isinstance(layer, DecoderLayer):
        last.append(layer.cross_attention.output)
    return [module.register_forward_hook(_silent()) for module in last]


def _without(features: slice) -> Any:
    """Make a hook that takes `features` away from what a module reads, [rows, length, dim]."""
    owner = threading.get_ident()

    def hook(_: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        if threading.get_ident() != owner:
            return args
        states = args[0].clone()
        states[..., features] = 0.0
        return (states, *args[1:])

    return hook


def _silent() -> Any:
    """Make a hook that lets a module say nothing."""
    owner = threading.get_ident()

    def hook(_: nn.Module, __: tuple[Tensor, ...], output: Tensor) -> Tensor:
        return torch.zeros_like(output) if threading.get_ident() == owner else output

    return hook


def _layers(model: Transformer, stack: Stack) -> nn.ModuleList:
    return model.encoder.layers if stack == "encoder" else model.decoder.layers


def _check(model: Transformer, part: Part) -> None:
    """Refuse a part that the model does not have."""
    if isinstance(part, Head):
        count = len(attention_modules(model)[part.kind])
        if not 0 <= part.head < model.num_heads:
            raise UserError(f"`head` must be between 0 and {model.num_heads - 1}, but is {part.head}.")
    else:
        count = len(_layers(model, part.stack))
    if not 0 <= part.layer < count:
        raise UserError(f"`layer` must be between 0 and {count - 1}, but is {part.layer}.")
