"""Filters: each reason, counted once, in the order in which it is asked."""

import numpy as np
import pytest

from heedful.config.data import FilterConfig
from heedful.data.filters import FilterReport, PairFilter, Reason, SeenBefore


@pytest.mark.parametrize(
    ("texts", "lengths", "reason"),
    [
        (("a", "b"), (5, 5), None),
        (("a", " \u3000\t"), (5, 1), "empty"),
        (("", "b"), (1, 99), "empty"),
        (("a", "b"), (11, 5), "too_long"),
        (("a", "b"), (10, 5), None),
        (("a", "b"), (4, 9), "uneven"),
        (("seen", "before"), (5, 5), "duplicate"),
        (("before", "seen"), (5, 5), None),
    ],
)
def test_each_reason(texts: tuple[str, str], lengths: tuple[int, int], reason: Reason | None) -> None:
    pair_filter = PairFilter(FilterConfig(max_tokens=10, max_ratio=2.0, drop_duplicates=True))
    assert pair_filter.reason_against("seen", "before", 5, 5) is None
    assert pair_filter.reason_against(*texts, *lengths) == reason
    assert pair_filter.report.num_read == 2
    assert pair_filter.report.num_kept == (2 if reason is None else 1)


def test_only_what_is_asked_for_is_left_out() -> None:
    pair_filter = PairFilter(FilterConfig())
    assert [pair_filter.reason_against("a", "b", 1, 200) for _ in range(3)] == [None, None, None]


def test_halves_of_surrogate_pairs_can_be_compared() -> None:
    pair_filter = PairFilter(FilterConfig(drop_duplicates=True))
    reasons = [pair_filter.reason_against("\ud800", "b", 2, 2) for _ in range(2)]
    assert reasons == [None, "duplicate"]


def test_the_report_is_a_sentence_and_reports_add_up() -> None:
    pair_filter = PairFilter(FilterConfig(max_tokens=10))
    for length in (5, 11, 12):
        pair_filter.reason_against("a", "b", length, 5)
    pair_filter.reason_against("", "b", 1, 5)
    assert pair_filter.report.sentence() == "1 training pair of 4; left out: 1 with an empty side, 2 too long."
    assert FilterReport(1500).sentence() == "1,500 training pairs of 1,500."
    assert (FilterReport(6) + pair_filter.report).sentence() == (
        "7 training pairs of 10; left out: 1 with an empty side, 2 too long."
    )


def test_what_was_seen_is_remembered_beyond_what_is_recent() -> None:
    generator = np.random.default_rng(3)
    seen, expected = SeenBefore(most_recent=16), set[int]()
    for _ in range(40):
        digests = generator.integers(0, 300, 12).astype(np.uint64) << np.uint64(55)
        for digest, is_new in zip(digests.tolist(), seen.are_new(digests).tolist(), strict=True):
            assert is_new == (digest not in expected)
            expected.add(digest)
    assert not seen.are_new(np.array(sorted(expected), dtype=np.uint64)).any()
