"""Greedy and beam search that a GPU does by itself: steps are recorded once and replayed; the host looks now and then.

A step of a small model is some hundred kernels of a few microseconds, so a search that asks Python for each of them
waits for Python most of the time. Here the model's step and the search's choice (fixed_beam.py) are one recording of
fixed shape. Sentences get places at a desk; those that have ended make room for others while the rest goes on. Results
are those of `Stepwise`, which does whatever is not done here. Without a GPU the same program runs unrecorded.
"""

import threading
import warnings
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from heedful.decoding.desk import CannotRecordError, Desk, FixedDecodable, make_desk
from heedful.decoding.fixed_beam import FixedRules, Taken
from heedful.decoding.generation import Stepwise
from heedful.decoding.hypothesis import Hypothesis
from heedful.decoding.protocol import Decodable
from heedful.decoding.request import SearchRequest

_LENGTHS = (32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048)
"""Positions of a source and of an output for which steps are recorded."""

_MAX_BEAM = 16
_MOST_BYTES = 8 << 30
"""What all desks may take of a GPU's memory, of which they take a third at most."""


@dataclass(frozen=True)
class Recorded:
    """A `Generator` that gives what `Stepwise` gives, without waiting for the host at every step."""

    fixed: FixedDecodable
    model: Decodable[Any]
    """The same model for what goes step by step."""

    batch_tokens: int = 1 << 18
    """Source tokens that are worth having together: those that wait take the places of those that end."""

    places: tuple[int, ...] = (1, 4, 16, 64, 128, 256, 512)
    """Sentences for which there may be places at a desk."""

    _desks: "OrderedDict[tuple[Any, ...], Desk]" = field(default_factory=OrderedDict, repr=False)
    _is_off: threading.Event = field(default_factory=threading.Event, repr=False)
    """Set when it was found that nothing can be recorded here."""

    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def generator(self) -> Stepwise:
        """What does the same step by step, and everything that is not done here."""
        return Stepwise(self.model)

    @torch.inference_mode()
    def generate(self, source_ids: Tensor, source_mask: Tensor, request: SearchRequest) -> list[list[Hypothesis]]:
        """Search for the best outputs of source_ids where source_mask, both [batch, source_len]."""
        request.check_batch(len(source_ids))
        if not request.max_lengths or not self._can_do(source_ids, request):
            return self.generator.generate(source_ids, source_mask, request)
        with self._lock:
            try:
                return _Search(self, source_ids, source_mask, request).results()
            except CannotRecordError as error:
                self._is_off.set()
                warnings.warn(f"{error}\nGoing on step by step, which is slower.", stacklevel=2)
            except RuntimeError:
                self._desks.clear()  # whatever it was, room is needed, and what was being written is of no use
                raise
        return self.generator.generate(source_ids, source_mask, request)

    def _can_do(self, source_ids: Tensor, request: SearchRequest) -> bool:
        is_plain = request.way is None and request.terms is None and request.prefix_ids is None
        is_new = request.beginnings is None and request.recorder is None and request.kept_reading is None
        longest = max(source_ids.size(1), *request.max_lengths)
        is_within = longest <= self.fixed.max_len and request.beam_size <= _MAX_BEAM
        return is_plain and is_new and is_within and not self._is_off.is_set()

    def desk(self, rules: FixedRules, num_sentences: int, source_len: int, max_len: int) -> Desk:
        """Return a desk with room for such sentences, one that is there or a new one."""
        source_len, max_len = (_at_least(length, _LENGTHS) for length in (source_len, max_len))
        row_bytes, source_bytes = self.fixed.position_bytes()
        bytes_of_place = row_bytes * rules.beam_size * max_len + source_bytes * source_len
        held = sum(desk.num_bytes for desk in self._desks.values())
        most = _MOST_BYTES
        if self.fixed.device.type == "cuda":
            most = min(most, (torch.cuda.mem_get_info(self.fixed.device)[0] + held) // 3)
        wanted = _at_least(num_sentences, self.places)
        batch = max(
            size for size in self.places if size <= wanted and (size * bytes_of_place <= most or size == self.places[0])
        )
        key = (rules, batch, source_len, max_len)
        if key not in self._desks:
            while self._desks and held + batch * bytes_of_place > most:
                held -= self._desks.popitem(last=False)[1].num_bytes
            self._desks[key] = make_desk(self.fixed, rules, (batch, source_len, max_len), batch * bytes_of_place)
        self._desks.move_to_end(key)
        return self._desks[key]


def _at_least(number: int, sizes: Sequence[int]) -> int:
    return next((size for size in sizes if size >= number), sizes[-1])


class _Search:
    """One call: sentences, longest first, and what has been found for them."""

    def __init__(self, rules: Recorded, source_ids: Tensor, source_mask: Tensor, request: SearchRequest) -> None:
        self._generator, self._request = rules, request
        self._source_ids, self._source_mask = source_ids, source_mask
        self._rules = FixedRules(
            bos_id=request.bos_id,
            eos_id=request.eos_id,
            forbidden_ids=tuple(request.forbidden_ids),
            min_length=request.min_length,
            beam_size=request.beam_size,
            n_best=request.n_best,
        )
        places = torch.arange(1, source_ids.size(1) + 1, device=source_ids.device)
        self._ends: list[int] = (places * source_mask).amax(dim=1).tolist()
        self._found: dict[int, list[Hypothesis]] = {}
        self._num_told: dict[int, int] = {}

    def results(self) -> list[list[Hypothesis]]:
        """Search for all of them."""
        caps = self._request.max_lengths
        order = sorted(range(len(caps)), key=lambda number: (-caps[number], -self._ends[number]))
        for desk, sentences in self._sections(order):
            self._work_through(desk, sentences)
        return [self._found[number] for number in range(len(caps))]

    def _sections(self, order: Sequence[int]) -> Iterator[tuple[Desk, list[int]]]:
        """Give sentences, the longest outputs first, to desks made for their lengths."""
        caps, start = self._request.max_lengths, 0
        while start < len(order):
            rest = order[start:]
            size = _at_least(caps[rest[0]], _LENGTHS)
            alike = sum(_at_least(caps[number], _LENGTHS) == size for number in rest)
            longest = max(self._ends[number] for number in rest)
            desk = self._generator.desk(self._rules, len(rest), longest, size)
            end = start + max(alike, min(desk.batch, len(rest)))
            yield desk, list(order[start:end])
            start = end

    def _work_through(self, desk: Desk, sentences: list[int]) -> None:
        """Seat sentences as places are free, and go on until all have ended."""
        desk.clear(self._request.length_penalty)
        seated: dict[int, int] = {}  # sentence of each place
        free = list(range(desk.batch))
        unread: list[tuple[list[int], Taken]] = []
        waiting = sentences[::-1]
        while seated or waiting:
            while waiting and (not seated or len(free) >= max(1, desk.batch // 4)):
                self._request.before_step()
                some = [waiting.pop() for _ in range(min(len(waiting), len(free)))]
                places = [free.pop() for _ in some]
                self._seat(desk, places, some)
                seated |= dict(zip(places, some, strict=True))
            for _ in range(desk.steps_between_looks):
                self._request.before_step()
                desk.step()
            for some, taken in unread:  # put together while the device is busy
                self._keep(some, taken)
            ended, steps = desk.look(list(seated))
            if self._is_heard:
                written = desk.written(list(seated), max(steps.values()))
                for place, token_ids in zip(seated, written, strict=True):
                    self._tell(seated[place], token_ids[: steps[place]])
            unread = []
            if ended:
                unread = [([seated.pop(place) for place in ended], desk.take(ended, max(steps[it] for it in ended)))]
                free += ended
        for some, taken in unread:
            self._keep(some, taken)

    def _seat(self, desk: Desk, places: list[int], sentences: list[int]) -> None:
        longest = max(1, max(self._ends[number] for number in sentences))
        chosen = torch.tensor(sentences).to(self._source_ids.device, non_blocking=True)
        desk.seat(
            places,
            self._source_ids[chosen, :longest],
            self._source_mask[chosen, :longest],
            [self._request.max_lengths[number] for number in sentences],
            [self._ends[number] for number in sentences],
        )

    def _keep(self, sentences: list[int], taken: Taken) -> None:
        """Put together what was found, and tell the last tokens of those that were listened to."""
        for sentence, found in zip(sentences, taken.hypotheses(self._request.length_penalty), strict=True):
            self._found[sentence] = found
            if self._is_heard:
                self._tell(sentence, found[0].token_ids)

    @property
    def _is_heard(self) -> bool:
        return self._request.on_tokens is not None and self._request.beam_size == 1

    def _tell(self, sentence: int, token_ids: list[int]) -> None:
        """Say what a greedy search has written since the last time."""
        news = token_ids[self._num_told.get(sentence, 0) :]
        self._num_told[sentence] = len(token_ids)
        if news and self._request.on_tokens is not None:
            self._request.on_tokens(sentence, news)
