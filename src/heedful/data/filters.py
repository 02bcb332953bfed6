"""Which training pairs are left out, and how many for which reason.

A pure decision per pair, on text and numbers of tokens; this file reads nothing and knows no tokenizer.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from heedful.config.data import FilterConfig
from heedful.errors import count_of

Reason = Literal["empty", "too_long", "uneven", "duplicate"]

REASONS: tuple[Reason, ...] = get_args(Reason)

_WORDS: Mapping[Reason, str] = {
    "empty": "with an empty side",
    "too_long": "too long",
    "uneven": "too uneven in length",
    "duplicate": "seen before",
}


@dataclass
class FilterReport:
    """How many pairs were read, how many were made of them, and how many were left out for which reason."""

    num_read: int = 0
    left_out: dict[Reason, int] = field(default_factory=lambda: dict.fromkeys(REASONS, 0))
    num_made: int = 0

    @property
    def num_kept(self) -> int:
        """Pairs that stayed."""
        return self.num_read + self.num_made - sum(self.left_out.values())

    def __add__(self, other: "FilterReport") -> "FilterReport":
        left_out = {reason: self.left_out[reason] + other.left_out[reason] for reason in REASONS}
        return FilterReport(self.num_read + other.num_read, left_out, self.num_made + other.num_made)

    def sentence(self) -> str:
        """Say it for a person."""
        reasons = [f"{number:,} {_WORDS[reason]}" for reason, number in self.left_out.items() if number]
        left_out = f"; left out: {', '.join(reasons)}" if reasons else ""
        made = f" and {self.num_made:,} made of them" if self.num_made else ""
        return f"{count_of(self.num_kept, 'training pair')} of {self.num_read:,}{made}{left_out}."


class PairFilter:
    """Decides pair by pair, in the order of the corpus, and counts in `report`."""

    def __init__(self, config: FilterConfig) -> None:
        self.config = config
        self.report = FilterReport()
        self._seen: set[bytes] = set()

    def reason_against(self, source: str, target: str, source_len: int, target_len: int) -> Reason | None:
        """Return why a pair is left out, None when it stays. Lengths are in tokens, the end symbol counted."""
        reason = self._decide(source, target, source_len, target_len)
        self.report.num_read += 1
        if reason:
            self.report.left_out[reason] += 1
        return reason

    def _decide(self, source: str, target: str, source_len: int, target_len: int) -> Reason | None:
        config = self.config
        if not source.strip() or not target.strip():
            return "empty"
        if max(source_len, target_len) > config.max_tokens:
            return "too_long"
        if config.max_ratio is not None:
            shorter, longer = sorted((source_len, target_len))
            if longer > config.max_ratio * shorter:
                return "uneven"
        if config.drop_duplicates:
            digest = pair_digest(source, target)
            if digest in self._seen:
                return "duplicate"
            self._seen.add(digest)
        return None


class SeenBefore:
    """Which digests have been seen, in eight bytes each: recent ones in a set, all others in one sorted array."""

    def __init__(self, most_recent: int = 1 << 20) -> None:
        self._recent: set[int] = set()
        self._older: NDArray[np.uint64] = np.zeros(0, dtype=np.uint64)
        self._most_recent = most_recent

    def are_new(self, digests: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Say of each digest whether it is seen for the first time, and remember it."""
        places = np.searchsorted(self._older, digests)
        is_new = np.ones(len(digests), dtype=bool)
        if len(self._older):
            is_new = self._older[np.minimum(places, len(self._older) - 1)] != digests
        recent = self._recent
        for place, digest in enumerate(digests.tolist()):
            if digest in recent:
                is_new[place] = False
            elif is_new[place]:
                recent.add(digest)
        if len(recent) >= self._most_recent:
            more = np.fromiter(recent, dtype=np.uint64, count=len(recent))
            self._older = np.sort(np.concatenate([self._older, more]), kind="stable")
            recent.clear()
        return is_new


def pair_digest(source: str, target: str) -> bytes:
    """Return 16 bytes that stand for a pair: a corpus of any size can be searched for doubles in little memory."""
    # JSON can spell half a surrogate pair, which plain UTF-8 refuses.
    text = f"{source}\n{target}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=16).digest()
