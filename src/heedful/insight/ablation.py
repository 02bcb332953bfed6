"""What a head or a layer is good for: switch it off, and see what becomes of the translation (Michel et al., 2019).

Parts are switched off from outside, by hooks that exist only inside a `with` block: the model's code has no place where
a head could be masked, and pays nothing for it. What a head found enters the model through its slice of W^O, so a head
is off when its part of what W^O reads is zero. A layer is off when its sub-layers add nothing to the residual stream.
"""

import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import torch
from torch import Tensor, nn

from heedful.errors import UserError
from heedful.insight.forced_pair import ForcedPair
from heedful.insight.trace import forced_log_probs
from heedful.models.attention_weights import Floats, check_place, find_use, uses_by_name
from heedful.models.interfaces import EncoderDecoder
from heedful.models.transformer import Transformer
from heedful.nn.layers import DecoderLayer, EncoderLayer
from heedful.tasks.device import on_one_thread
from heedful.tasks.translation.translator import Translator
from heedful.text.lines import one_line

Stack = Literal["encoder", "decoder"]


@dataclass(frozen=True)
class Head:
    """One head: its use, its layer and its number, counted from 0."""

    kind: str
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
def switched_off(model: EncoderDecoder, parts: Collection[Part]) -> Iterator[None]:
    """Run a model without some of its parts, in `forward` and in a search alike; for other threads it stays whole."""
    with ExitStack() as hooks:
        for part in parts:
            for handle in _switch_off(model, part):
                hooks.callback(handle.remove)
        yield


@on_one_thread()
def ablate(
    translator: Translator, pair: ForcedPair, parts: Collection[Part], *, beam_size: int | None = None
) -> Ablation:
    """Translate a traced sentence once more without `parts`, and ask what they did for the old translation.

    What the old translation was made to begin with, the new one begins with, too.
    """
    model, tokenizer = translator.readable_model, translator.tokenizer
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
) -> dict[str, Floats]:
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
    changes: dict[str, Floats] = {}
    for kind, uses in uses_by_name(model).items():
        changes[kind] = np.zeros((len(uses), uses[0].module.num_heads), dtype=np.float32)
        for layer, head in np.ndindex(*changes[kind].shape):
            with switched_off(model, [Head(kind, layer, head)]):
                # Heads that look from the target leave the encoder's output as it is.
                changes[kind][layer, head] = (
                    log_prob(model.encode(source_ids, None) if uses[0].looks_from == "source" else memory) - whole
                )
    return changes


def _switch_off(model: EncoderDecoder, part: Part) -> list[Any]:
    """Hang up the hooks for one part; refuse a part that the model does not have."""
    if isinstance(part, Head):
        attention = find_use(model, part.kind, part.layer, part.head).module
        width = attention.output.in_features // attention.num_heads
        return [attention.output.register_forward_pre_hook(_without(slice(part.head * width, (part.head + 1) * width)))]
    if not isinstance(model, Transformer):
        raise UserError("A layer can be switched off in a Transformer only: others do not add to a residual stream.")
    layers = model.encoder.layers if part.stack == "encoder" else model.decoder.layers
    check_place(("layer", part.layer, len(layers)))
    layer = cast(EncoderLayer | DecoderLayer, layers[part.layer])
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
