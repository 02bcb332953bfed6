"""How a language model reads: where its heads look, into the memory too, and what it expects after each symbol."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import torch
from torch import Tensor

from heedful.errors import HeedfulError, UserError
from heedful.insight.forced_pair import MAX_TOKENS, NO_NUMBERS
from heedful.insight.trace import Choice
from heedful.models.attention_weights import Floats, watch_attention
from heedful.models.language_model import LanguageModel
from heedful.tasks.language_modeling.model import TextModel
from heedful.text.symbols import Symbols

_TOP = 8  # symbols listed at each place


@dataclass(frozen=True)
class TextTrace:
    """The end of a text as a language model read it."""

    remembered: tuple[str, ...]
    """Symbols in the memory, which can be looked at but look no more; none for a model without one."""

    read: tuple[str, ...]
    """The symbols after them, the first of a text being the line end it is taken to follow."""

    log_probs: tuple[float, ...]
    """How much each of `read` but the first was expected."""

    expected: tuple[tuple[Choice, ...], ...]
    """After each of `read`, the most probable next symbols, best first; the last are those of the text going on."""

    weights: Floats = field(repr=False)
    """[layers, heads, query_len, key_len]: queries are `read`, keys are `remembered` and then `read`; no layers of a
    model without attention."""

    @property
    def bits_per_symbol(self) -> float:
        """How surprising the symbols were on average; 0 where there is none but the first."""
        return -sum(self.log_probs) / max(1, len(self.log_probs)) / math.log(2)


@torch.no_grad()
def trace_text(model: TextModel, text: str | bytes, *, num_read: int = 64) -> TextTrace:
    """Let a model read a text, and look at the last `num_read` symbols of it; those before them fill the memory."""
    if not 1 <= num_read <= MAX_TOKENS:
        raise UserError(f"`num_read` must be between 1 and {MAX_TOKENS}, but is {num_read}.")
    encoded = model.symbols.encode(text.encode() if isinstance(text, str) else text)
    ids = torch.tensor([[model.symbols.start_id, *encoded.tolist()]], device=model.device)
    has_memory = not isinstance(model.model, LanguageModel)
    num_read = min(num_read, ids.size(1)) if has_memory else min(num_read, ids.size(1), _context_len(model))
    before, shown = ids[:, :-num_read], ids[:, -num_read:]
    memory = model.model.empty_memory(1, model.memory_len if has_memory else 0)
    for start in range(0, before.size(1) if has_memory else 0, model.segment_len):
        _, memory = model.model(before[:, start : start + model.segment_len], memory)
    with watch_attention(model.model) as found:
        hidden, _ = model.model(shown, memory)
    log_probs = model.model.project(hidden)[0].float().log_softmax(dim=-1)  # [query_len, vocab]
    if bool(log_probs.isnan().any()):
        raise HeedfulError(NO_NUMBERS)
    # What a recurrent model remembers is a state, not symbols, and nothing in it looks at any.
    num_remembered = min(memory.memory_len, before.size(1)) if found else 0
    nothing = torch.zeros(0, 1, num_read, num_read)
    looks = [layer[0, ..., -(num_remembered + num_read) :] for layer in found.values()]
    weights = torch.stack(looks) if looks else nothing
    followed = log_probs[:-1].gather(1, shown[0, 1:, None])[:, 0]
    spelled = _spelled(model.symbols, ids[0].tolist(), num_remembered + num_read)
    return TextTrace(
        remembered=tuple(spelled[:num_remembered]),
        read=tuple(spelled[num_remembered:]),
        log_probs=tuple(followed.tolist()),
        expected=_expected(model.symbols, log_probs, shown[0].tolist()),
        weights=weights.float().cpu().numpy(),
    )


def spell(symbols: Symbols, symbol_id: int, *, begins_line: bool) -> str:
    """Return a symbol to be shown: a piece that begins a word has its space, unless it begins a line.

    A byte that is no character by itself has its number for a name.
    """
    writer = symbols.writer()
    if not begins_line:
        writer.follow([symbol_id])
    raw = writer.write(symbol_id) + writer.close()
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return "".join(f"<0x{byte:02X}>" for byte in raw)


def _context_len(model: TextModel) -> int:
    assert isinstance(model.model, LanguageModel), "whoever has a memory has no longest context"
    return model.model.context_len


def _spelled(symbols: Symbols, ids: Sequence[int], num_last: int) -> list[str]:
    """Spell the last of some symbols that follow each other."""
    pairs = [*pairwise((symbols.start_id, *ids))][-num_last:]
    return [spell(symbols, id_, begins_line=before == symbols.start_id) for before, id_ in pairs]


def _expected(symbols: Symbols, log_probs: Tensor, read: Sequence[int]) -> tuple[tuple[Choice, ...], ...]:
    """List the most probable symbols of each row of log_probs [query_len, vocab], each after what was `read` there."""
    best = log_probs.topk(min(_TOP, log_probs.size(1)), dim=1)
    return tuple(
        tuple(
            Choice(spell(symbols, id_, begins_line=last == symbols.start_id), id_, value)
            for id_, value in zip(ids, values, strict=True)
        )
        for last, ids, values in zip(read, best.indices.tolist(), best.values.tolist(), strict=True)
    )
