"""The table of section 4 of the paper, measured: time and memory of a layer over length n and width d.

For every family, length and width one layer runs forward and backward. Exponents are fitted to the larger sizes, where
what is asymptotic shows; smaller ones say where it does not. Sequential steps and paths are counted, not timed.
On one thread of a CPU the clock is the processor's own, which other programs do not disturb.
"""

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import nn

from heedful.errors import is_out_of_memory
from heedful.evaluation.intervals import Estimate, power_law
from heedful.studies.dependencies import rounds_to_reach, sequential_steps
from heedful.studies.layers import FAMILIES, rounds_of
from heedful.studies.memory import peak_bytes
from heedful.studies.study_folder import StudyFolder

Say = Callable[[str], None]

MIN_REPEATS, MAX_REPEATS, ENOUGH_SECONDS = 2, 20, 0.4
TOO_LONG_SECONDS = 4.0
"""What takes longer than this is not measured at the next larger size."""

CHAIN_LENGTHS, REACH_LENGTHS, REACH_DIM = (8, 16, 32, 64), (8, 16, 32, 64, 128, 256), 8


@dataclass(frozen=True)
class Sizes:
    """What is measured, and where."""

    lengths: Sequence[int]
    widths: Sequence[int]
    devices: Sequence[str]
    threads: int = 1
    seed: int = 1

    def cells(self) -> Iterator[tuple[str, int, int, str]]:
        """Return device, length, width and family of each measurement; families take turns."""
        for device in self.devices:
            for length in sorted(self.lengths):
                for width in sorted(self.widths):
                    yield from ((device, length, width, family) for family in FAMILIES)


@dataclass(frozen=True)
class Cell:
    """One layer, measured at one size."""

    device: str
    family: str
    length: int
    width: int
    forward: float
    """Seconds of a forward pass; the quickest of several, since disturbances only add."""

    backward: float
    peak: int
    """Bytes that forward and backward pass together hold at most."""

    @property
    def total(self) -> float:
        """Seconds of both passes."""
        return self.forward + self.backward


@dataclass(frozen=True)
class Findings:
    """All that was measured."""

    sizes: Sizes
    cells: list[Cell]
    left_out: list[tuple[str, str, int, int]]
    """Device, family, length and width of what would have taken too long or too much memory."""

    chains: dict[str, dict[int, int]]
    """Operations that must follow one another, by family and length."""

    reaches: dict[str, dict[int, int]]
    """Rounds until the last output feels the first input, by family and length."""

    def of(self, device: str, family: str) -> list[Cell]:
        """Return the cells of a family on a device."""
        return [cell for cell in self.cells if (cell.device, cell.family) == (device, family)]


def study_complexity(sizes: Sizes, folder: StudyFolder, say: Say, minutes: float | None = None) -> Findings:
    """Measure what is not measured yet; after so many minutes what is left is left out."""
    threads = torch.get_num_threads()
    torch.set_num_threads(sizes.threads)
    ends = math.inf if minutes is None else time.monotonic() + 60 * minutes
    left_out = []
    try:
        for device, length, width, family in sizes.cells():
            key = _key(device, family, length, width)
            if key in folder.done:
                continue
            is_over = time.monotonic() > ends or _is_too_large(folder, device, family, length, width)
            cell = None if is_over else _measure_if_it_fits(device, family, length, width, sizes)
            if cell is None:
                left_out.append((device, family, length, width))
                continue
            folder.record(key, asdict(cell))
            say(f"{device}  {FAMILIES[family].name}, n = {length}, d = {width}: {1000 * cell.total:.2f} ms")
    finally:
        torch.set_num_threads(threads)
    chains = {
        name: {n: sequential_steps(family.build, length=n, dim=64) for n in CHAIN_LENGTHS}
        for name, family in FAMILIES.items()
    }
    cells = [_cell(folder.done[_key(d, f, n, w)]) for d, n, w, f in sizes.cells() if _key(d, f, n, w) in folder.done]
    return Findings(sizes, cells, left_out, chains, _reaches(sizes.seed))


def _cell(fields: dict[str, Any]) -> Cell:
    return Cell(**fields)


def _measure_if_it_fits(device: str, family: str, length: int, width: int, sizes: Sizes) -> Cell | None:
    """Measure one layer; None when the memory is too small for it, or others have it, or cuDNN refuses the length."""
    try:
        with _every_product_in_fp32():
            return measure(device, family, length, width, sizes)
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error) and "CUDNN_STATUS_NOT_SUPPORTED" not in str(error):
            raise
    torch.cuda.empty_cache()
    return None


@contextmanager
def _every_product_in_fp32() -> Iterator[None]:
    """Let convolutions and recurrent kernels of a GPU compute as matrix products do; they have TF32 by default."""
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32
    try:
        yield
    finally:
        torch.backends.cudnn.allow_tf32 = before


def measure(device: str, family: str, length: int, width: int, sizes: Sizes) -> Cell:
    """Time one layer on one sequence, and find out how much memory it holds."""
    place = torch.device(device)
    torch.manual_seed(sizes.seed)
    layer = FAMILIES[family].build(width).to(place)
    inputs = torch.randn(1, length, width, device=place, requires_grad=True)
    upstream = torch.randn(1, length, width, device=place)
    clock = time.process_time if device == "cpu" and sizes.threads == 1 else time.perf_counter

    def now() -> float:
        if place.type == "cuda":
            torch.cuda.synchronize(place)
        return clock()

    forwards: list[float] = []
    backwards: list[float] = []
    while len(forwards) < MIN_REPEATS or (sum(forwards + backwards) < ENOUGH_SECONDS and len(forwards) < MAX_REPEATS):
        _forget(layer, inputs)
        start = now()
        outputs = layer(inputs)
        middle = now()
        outputs.backward(upstream)
        forwards.append(middle - start)
        backwards.append(now() - middle)

    def both() -> None:
        _forget(layer, inputs)
        layer(inputs).backward(upstream)

    del outputs
    _forget(layer, inputs)
    return Cell(device, family, length, width, min(forwards), min(backwards), peak_bytes(both, place))


def _forget(layer: nn.Module, inputs: torch.Tensor) -> None:
    """Drop the gradients, so that every pass begins alike; inputs [batch, length, dim]."""
    layer.zero_grad(set_to_none=True)
    inputs.grad = None


def _is_too_large(folder: StudyFolder, device: str, family: str, length: int, width: int) -> bool:
    """Tell whether a size is beyond reason, by what the sizes half as long or half as wide have taken."""
    smaller = [folder.done.get(_key(device, family, *size)) for size in ((length // 2, width), (length, width // 2))]
    known = [_cell(cell) for cell in smaller if cell is not None]
    return any(cell.total > TOO_LONG_SECONDS or 4 * cell.peak > _memory(device) / 2 for cell in known)


def _memory(device: str) -> int:
    """Return the bytes a device has; of a GPU those that others have left, and what this process has taken."""
    if device.startswith("cuda"):
        place = torch.device(device)
        return int(torch.cuda.mem_get_info(place)[0]) + torch.cuda.memory_reserved(place)
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _key(device: str, family: str, length: int, width: int) -> str:
    return f"{device} {family} {length} {width}"


def _reaches(seed: int) -> dict[str, dict[int, int]]:
    torch.manual_seed(seed)
    found = {}
    for name, rounds in rounds_of(REACH_DIM).items():
        inputs = {n: torch.randn(1, n, REACH_DIM, dtype=torch.float64) for n in REACH_LENGTHS}
        found[name] = {n: rounds_to_reach(rounds, states) for n, states in inputs.items()}
    return found


@dataclass(frozen=True)
class Exponents:
    """The powers of n and d with which something grows over the larger sizes."""

    device: str
    family: str
    measured: dict[str, Estimate]
    counted: dict[str, Estimate]
    """Those of the counted operations over the same sizes: what time would follow if every operation cost the same."""


def asymptotic(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells of the larger half of lengths and of widths, where the law shows."""
    lengths, widths = sorted({cell.length for cell in cells}), sorted({cell.width for cell in cells})
    least_length, least_width = lengths[len(lengths) // 2 - 1], widths[len(widths) // 2 - 1]
    return [cell for cell in cells if cell.length >= least_length and cell.width >= least_width]


def fit(findings: Findings, of: Callable[[Cell], float]) -> list[Exponents]:
    """Fit the growth of time or memory for each family on each device that was measured often enough."""
    found = []
    for device in findings.sizes.devices:
        for family in FAMILIES:
            cells = asymptotic(findings.of(device, family)) if findings.of(device, family) else []
            sizes = {"n": [cell.length for cell in cells], "d": [cell.width for cell in cells]}
            if len(cells) < 4 or min(len(set(sizes["n"])), len(set(sizes["d"]))) < 2:
                continue
            counted = [FAMILIES[family].multiply_adds(cell.length, cell.width) for cell in cells]
            measured = power_law(sizes, [of(cell) for cell in cells])
            found.append(Exponents(device, family, measured, power_law(sizes, counted)))
    return found


@dataclass(frozen=True)
class Crossing:
    """From which length on attention costs more than another family, at one width."""

    device: str
    other: str
    width: int
    counted: float
    """By operations."""

    measured: float | None
    """By the clock; None when the lines do not cross within what was measured."""

    expected: float | None
    """Where they would cross if both went on as between the two longest lengths; None where they do or never will."""

    is_slower_at_end: bool
    """Whether attention costs more at the longest length measured."""

    longest: int


def crossings(findings: Findings, attention: str = "projected") -> list[Crossing]:
    """Find where attention with its projections becomes dearer than each rival, at each width on each device."""
    found = []
    for device in findings.sizes.devices:
        for other in ("recurrent", "convolution"):
            for width in sorted(findings.sizes.widths):
                ours = {cell.length: cell.total for cell in findings.of(device, attention) if cell.width == width}
                theirs = {cell.length: cell.total for cell in findings.of(device, other) if cell.width == width}
                lengths = sorted(ours.keys() & theirs.keys())
                if len(lengths) < 2:
                    continue
                gaps = [math.log(ours[n] / theirs[n]) for n in lengths]
                measured = _zero(lengths, gaps)
                counted = _counted_crossing(attention, other, width)
                expected = _next_zero(lengths, gaps) if measured is None else None
                found.append(Crossing(device, other, width, counted, measured, expected, gaps[-1] > 0, lengths[-1]))
    return found


def _zero(lengths: Sequence[int], gaps: Sequence[float]) -> float | None:
    """Return the last length at which a line of gaps over log length rises through zero."""
    for place in range(len(lengths) - 1, 0, -1):
        before, after = gaps[place - 1], gaps[place]
        if before <= 0 < after:
            share = -before / (after - before)
            low, high = math.log(lengths[place - 1]), math.log(lengths[place])
            return math.exp(low + share * (high - low))
    return None


def _next_zero(lengths: Sequence[int], gaps: Sequence[float]) -> float | None:
    """Return where a line of gaps over log length that is still below zero will rise through it, if it does."""
    before, after = gaps[-2:]
    if after > 0 or after <= before:
        return None
    low, high = math.log(lengths[-2]), math.log(lengths[-1])
    return math.exp(high - after * (high - low) / (after - before))


def _counted_crossing(one: str, other: str, width: int) -> float:
    """Return the length at which the counted operations of two families are equal, 0 where one always has more."""
    ours, theirs = FAMILIES[one].multiply_adds, FAMILIES[other].multiply_adds
    low, high = 1, 1 << 24
    if ours(low, width) > theirs(low, width):
        return 0.0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if ours(middle, width) <= theirs(middle, width) else (low, middle)
    return float(low)
