"""What is asked of a search, whichever it is: one frozen description, checked here when it is made.

Token ids and numbers only. Which sentences are searched, and by which model, is said beside it (generation.py).
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from torch import Tensor

from heedful.decoding.protocol import Decodable, State, go_on
from heedful.decoding.reading import KeptReading
from heedful.decoding.recorder import Recorder
from heedful.decoding.terms import Term
from heedful.decoding.ways import Way
from heedful.errors import UserError

TokenListener = Callable[[int, Sequence[int]], None]
"""(sentence of the batch, tokens that its output has now beside those told before, and will not lose again)"""


class Beginning(NamedTuple):
    """What an output begins with, as it was written before, and how probable each token was."""

    token_ids: Sequence[int] = ()
    log_probs: Sequence[float] = ()


@dataclass(frozen=True, kw_only=True)
class SearchRequest:
    """The rules of one search over a batch of sentences."""

    bos_id: int
    """The symbol every output starts from; it is not part of the result."""

    eos_id: int
    """The symbol that ends an output; it is not part of the result."""

    max_lengths: Sequence[int] = ()
    """[batch]: the most tokens each output may have, its end symbol included."""

    beam_size: int = 4
    """Hypotheses followed side by side; 1 is greedy search."""

    n_best: int = 1
    """Hypotheses to return; at most `beam_size`. There may be fewer, but never none."""

    way: Way | None = None
    """How outputs are found; None is greedy or beam search. The others have no use for `beam_size`."""

    length_penalty: float = 0.6
    """α of ((5 + length) / 6)^α."""

    forbidden_ids: Sequence[int] = ()
    """Tokens that are never emitted, such as padding and the start symbol."""

    min_length: int = 0
    """Tokens an output has at least before it may end."""

    prefix_ids: Sequence[Sequence[int]] | None = None
    """[batch] lists: tokens each output must begin with; they count as part of the output. A prefix overrules
    `forbidden_ids`, because a language tag is a thing one forces and never wants to be emitted."""

    beginnings: Sequence[Beginning] | None = None
    """[batch]: what each output goes on from; prefixes follow it, and it counts as part of the output."""

    terms: Sequence[Sequence[Term]] | None = None
    """[batch] lists: what each output must contain; none of the lists is empty. A beam search of any size keeps them,
    other ways do not."""

    continuation_ids: Collection[int] = frozenset()
    """Tokens that go on with a word: a term that one of them follows is another word."""

    may_lack_terms: bool = False
    """Whether terms are looked for among the likeliest tokens only: an output in which one would be improbable is then
    written without terms, which takes a fraction of the time."""

    are_terms_unlikely: bool = False
    """Whether terms are known not to be among the likeliest tokens, and are not looked for there first."""

    kept_reading: KeptReading | None = None
    """What was read of the same sentences before, and is not read again."""

    recorder: Recorder | None = None
    """Told about every step of a beam search, if there is one."""

    before_step: Callable[[], None] = go_on
    """Called before every piece of work that takes noticeable time: a step, a layer of the encoder. What it raises ends
    the search."""

    on_tokens: TokenListener | None = None
    """Told what has been written while a search goes on, by those that never change their mind: greedy search does, a
    beam search does not."""

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        if self.beam_size < 1:
            raise UserError(f"`beam_size` must be at least 1, but is {self.beam_size}.")
        if not 1 <= self.n_best <= self.beam_size:
            raise UserError(f"`n_best` must be between 1 and `beam_size` ({self.beam_size}), but is {self.n_best}.")
        if self.length_penalty < 0:
            raise UserError(f"`length_penalty` must be at least 0, but is {self.length_penalty}.")
        if self.eos_id in self.forbidden_ids:
            raise UserError(
                f"`forbidden_ids` must not contain the end symbol, but contain {self.eos_id}. Use `min_length`."
            )
        if self.max_lengths and min(self.max_lengths) < 1:
            raise UserError(f"`max_lengths` must be at least 1, but contain {min(self.max_lengths)}.")
        if self.prefix_ids is not None:
            self._check_prefixes(self.prefix_ids)
        if self.terms is not None and (self.way is not None or not all(self.terms)):
            raise UserError("`terms` must be given for every sentence, and for greedy or beam search only.")

    def start(self, model: Decodable[State], source_ids: Tensor, source_mask: Tensor, *, max_rows: int) -> State:
        """Have a model read source_ids where source_mask, [batch, source_len] each, before its first step."""
        start = model.start if self.kept_reading is None else partial(self.kept_reading.start, model)
        return start(
            source_ids,
            source_mask,
            max_rows=max_rows,
            max_len=max(self.max_lengths),
            before_layer=self.before_step,
        )

    def _check_prefixes(self, prefix_ids: Sequence[Sequence[int]]) -> None:
        batch = len(self.max_lengths)
        if len(prefix_ids) != batch:
            raise UserError(
                f"`prefix_ids` must have one list for each of {batch} sentences, but has {len(prefix_ids)}."
            )
        if any(self.eos_id in prefix for prefix in prefix_ids):
            raise UserError("`prefix_ids` must not contain the end symbol: nothing could follow it.")
        begun = self.beginnings or [Beginning()] * batch
        for number, (before, prefix, cap) in enumerate(zip(begun, prefix_ids, self.max_lengths, strict=True)):
            if len(before.token_ids) + len(prefix) > cap:
                raise UserError(
                    f"`prefix_ids` must fit `max_lengths`, "
                    f"but sentence {number} has {len(prefix)} tokens for {cap - len(before.token_ids)} places."
                )

    def check_batch(self, batch: int) -> None:
        """Refuse a batch of another size than the request was made for."""
        if len(self.max_lengths) != batch:
            raise UserError(
                f"`max_lengths` must have one entry for each of {batch} sentences, but has {len(self.max_lengths)}."
            )
