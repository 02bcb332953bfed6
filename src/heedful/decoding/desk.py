"""A desk: places for sentences that are searched side by side, and the recordings of what is done there.

Everything has a fixed shape and lies where it lies, so that a GPU can replay it: reading a group of sentences, and one
step of all rows with the search's choice after it.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from heedful.decoding.fixed_beam import FixedBeam, FixedRules, Taken
from heedful.errors import HeedfulError, is_out_of_memory


class FixedDecodable(Protocol):
    """A model whose steps have fixed shapes: `engines.cuda.FixedTransformer` is one."""

    device: torch.device
    max_len: int

    def position_bytes(self) -> tuple[int, int]:
        """Return what a position of a row takes in memory, and what a position of a source takes."""

    def make_seats(self, *, batch: int, beam: int, source_len: int, max_len: int) -> Any:
        """Make room for sentences with a beam of rows each.

        It has `memory` [layers, 2, batch, source_len, dim], `is_real` bool [batch, source_len], `ends` int64 [batch],
        `steps` int64 [batch], `holders` int32 [rows, target_len] and `token_ids` int64 [rows], changed in place.
        """

    def kinds_of(self, forbidden_ids: tuple[int, ...], eos_id: int) -> Tensor:
        """Say of every token whether it may be written, [vocab]."""

    def read(self, source_ids: Tensor, source_mask: Tensor) -> Tensor:
        """Read sentences [batch, source_len]; returns their memory [layers, 2, batch, source_len, dim]."""

    def step_best(self, seats: Any, kinds: Tensor, *, min_length: int, count: int) -> tuple[Tensor, Tensor]:
        """Read the newest token of every row; returns log-probabilities and ids of the best, [rows, candidates]."""


class Desk:
    """Places for `batch` sentences of up to `source_len` tokens and outputs of up to `max_len`."""

    def __init__(
        self, model: FixedDecodable, rules: FixedRules, batch: int, source_len: int, max_len: int, *, num_bytes: int
    ) -> None:
        self.batch, self.num_bytes = batch, num_bytes
        self.steps_between_looks = 4 if batch <= 4 else 8
        self._model, self._rules, self._source_len = model, rules, source_len
        self._seats = model.make_seats(batch=batch, beam=rules.beam_size, source_len=source_len, max_len=max_len)
        self._beam = FixedBeam(rules, self._seats.token_ids, self._seats.steps, self._seats.holders)
        self._kinds = model.kinds_of(rules.forbidden_ids, rules.eos_id)
        self._pool = torch.cuda.graph_pool_handle() if model.device.type == "cuda" else None
        self._readers: dict[tuple[int, int], _Reader] = {}
        # Nobody has a place yet, so that a trial run does no harm.
        self._step = _Recording(self._advance, model.device, self._pool)

    def clear(self, length_penalty: float) -> None:
        """Let all leave who may still be here, after a search that was broken off."""
        self._beam.is_open.fill_(False)
        self._beam.set_length_penalty(length_penalty)

    def group(self, num: int) -> int:
        """Say how many are read together where there are so many: two sizes, so that few are recorded."""
        return next(size for size in (max(1, self.batch // 4), self.batch) if size >= num)

    def seat(
        self,
        places: list[int],
        source_ids: Tensor,
        source_mask: Tensor,
        max_lengths: Sequence[int],
        ends: Sequence[int],
    ) -> None:
        """Give places to sentences, source_ids and source_mask [batch, source_len], and read them."""
        num, length = source_ids.shape
        size = (self.group(num), _padded(length, self._source_len))
        if size not in self._readers:
            self._readers[size] = _Reader(self._model, *size, self._pool)
        memory = self._readers[size].read(source_ids, source_mask)
        length = memory.size(3)
        numbers = torch.tensor([places, max_lengths, ends]).to(source_ids.device, non_blocking=True)
        chosen, seats = numbers[0], self._seats
        seats.memory[:, :, chosen, :length] = memory[:, :, :num]
        seats.is_real[chosen] = False
        seats.is_real[chosen, : source_ids.size(1)] = source_mask
        seats.ends[chosen] = numbers[2]
        self._beam.begin(chosen, numbers[1])

    def step(self) -> None:
        """Let every sentence write one token more."""
        self._step.run()

    def look(self, places: list[int]) -> tuple[list[int], dict[int, int]]:
        """Return which of the places have ended, and how far each has come; the host waits for the device."""
        state = torch.stack([self._beam.is_open.long(), self._beam.steps]).tolist()
        return [place for place in places if not state[0][place]], {place: state[1][place] for place in places}

    def take(self, places: list[int], longest: int) -> Taken:
        """Take the results of places that have ended, after at most `longest` steps."""
        return self._beam.take(torch.tensor(places).to(self._model.device), longest)

    def written(self, places: list[int], longest: int) -> list[list[int]]:
        """Return the first `longest` tokens of the first slot of places."""
        chosen = torch.tensor(places).to(self._model.device)
        found: list[list[int]] = self._beam.written_ids[chosen, :longest, 0].tolist()
        return found

    def _advance(self) -> None:
        rules = self._rules
        self._beam.choose(
            *self._model.step_best(self._seats, self._kinds, min_length=rules.min_length, count=rules.beam_size + 1)
        )


def make_desk(model: FixedDecodable, rules: FixedRules, shape: tuple[int, int, int], num_bytes: int) -> Desk:
    """Make a desk of `shape`: places, positions of a source, positions of an output.

    What is missing for compiling kernels, such as a C compiler, shows here, and is a `CannotRecordError`.
    """
    try:
        return Desk(model, rules, *shape, num_bytes=num_bytes)
    except Exception as error:  # of Triton, of the C compiler, of the driver: they have no common ancestor
        if is_out_of_memory(error):
            raise
        raise CannotRecordError(f"A search on this GPU could not be recorded: {error}") from error


class CannotRecordError(HeedfulError):
    """Steps of fixed shape do not run here."""


class _Reader:
    """Reads groups of sentences of up to a length."""

    def __init__(self, model: FixedDecodable, size: int, length: int, pool: Any) -> None:
        self._ids = torch.zeros(size, length, dtype=torch.int64, device=model.device)
        self._mask = torch.zeros(size, length, dtype=torch.bool, device=model.device)
        self._memory: Tensor | None = None

        def read() -> None:
            self._memory = model.read(self._ids, self._mask)

        self._reading = _Recording(read, model.device, pool)

    def read(self, source_ids: Tensor, source_mask: Tensor) -> Tensor:
        """Read source_ids where source_mask, [batch, source_len] each; returns memory, longer and of more sentences."""
        num, length = source_ids.shape
        self._mask.fill_(False)
        self._ids[:num, :length] = source_ids
        self._mask[:num, :length] = source_mask
        self._reading.run()
        assert self._memory is not None
        return self._memory


class _Recording:
    """Work on tensors that lie where they lie: recorded on a GPU and replayed, done as it stands elsewhere."""

    def __init__(self, work: Callable[[], None], device: torch.device, pool: Any) -> None:
        self._work: Callable[[], None] = work
        if device.type != "cuda":
            return
        # Once unrecorded: what kernels prepare at their first launch may not be prepared in a recording.
        aside = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(aside):
            work()
        torch.cuda.current_stream(device).wait_stream(aside)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph, pool=pool, capture_error_mode="thread_local"):
            work()
        self._work = self._graph.replay

    def run(self) -> None:
        """Do the work."""
        self._work()


def _padded(length: int, most: int) -> int:
    """Round a length up to 16, or a multiple of 32, so that few lengths are recorded."""
    return min(most, 16 if length <= 16 else (length + 31) // 32 * 32)
