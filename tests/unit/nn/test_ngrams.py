"""Hashed n-grams: found where they are, the same everywhere, weighed as a set, and counted as naive Bayes wants."""

import math
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from heedful.nn.ngrams import NaiveBayesPath, NgramCounts, NgramEmbedding, ngram_buckets, occurrence_shares

BUCKETS = 1 << 40  # more than will ever collide: equal buckets then mean equal n-grams


def buckets_of(tokens: list[int], length: int, padding: int = 0) -> list[int]:
    ids = torch.tensor([tokens + [0] * padding])
    found = ngram_buckets(ids, ids != 0, length=length, num_buckets=BUCKETS)
    return [int(bucket) for bucket in found[0]]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=12), st.integers(1, 4), st.integers(0, 5))
def test_equal_ngrams_and_only_those_have_equal_buckets(tokens: list[int], length: int, padding: int) -> None:
    buckets = buckets_of(tokens, length, padding)
    assert all(bucket == 0 for bucket in buckets[: length - 1] + buckets[len(tokens) :])
    ngrams = [tuple(tokens[end - length + 1 : end + 1]) for end in range(length - 1, len(tokens))]
    found = buckets[length - 1 : len(tokens)]
    assert 0 not in found
    assert len(set(ngrams)) == len(set(found)) == len(set(zip(ngrams, found, strict=True)))


def test_the_same_tokens_in_another_order_or_of_another_length_are_something_else() -> None:
    assert buckets_of([1, 2], 2)[1] != buckets_of([2, 1], 2)[1]
    assert buckets_of([1, 1], 2)[1] != buckets_of([1], 1)[0]


def test_hashes_are_spread_evenly() -> None:
    ids = torch.randint(1, 16_000, (1, 40_000), generator=torch.Generator().manual_seed(0))
    found = ngram_buckets(ids, ids != 0, length=2, num_buckets=1001)[0, 1:]
    counts = torch.bincount(found, minlength=1001)
    assert counts[0] == 0
    chi_square = float(((counts[1:] - 40.0) ** 2 / 40.0).sum())
    assert 850 < chi_square < 1150  # 1,000 buckets: mean 999, deviation 45


def test_a_token_that_is_not_seen_hides_the_ngrams_it_is_in() -> None:
    ids = torch.tensor([[3, 4, 5, 6]])
    seen = torch.tensor([[True, False, True, True]])
    assert (ngram_buckets(ids, seen, length=2, num_buckets=99)[0] > 0).tolist() == [False, False, False, True]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=12))
def test_all_occurrences_of_a_bucket_weigh_one_together(row: list[int]) -> None:
    shares = occurrence_shares(torch.tensor([row]))[0].tolist()
    counts = Counter(row)
    assert shares == pytest.approx([0.0 if bucket == 0 else 1 / counts[bucket] for bucket in row])


def test_vectors_of_ngrams_start_at_zero_and_are_added_where_they_end() -> None:
    embedding = NgramEmbedding(up_to=2, num_buckets=50, dim=3)
    ids = torch.tensor([[5, 6, 5, 6]])
    assert (embedding(ids, ids != 0) == 0).all()
    with torch.no_grad():
        embedding.weight.copy_(torch.arange(150.0).view(50, 3))
    bucket = ngram_buckets(ids, ids != 0, length=2, num_buckets=50)
    vectors = embedding(ids, ids != 0)[0]
    assert (vectors[0] == 0).all(), "no pair ends at the first token"
    assert_close(vectors[1], embedding.weight[bucket[0, 1]])
    assert_close(vectors[1], vectors[3])


def path_with(documents: list[list[int]], labels: list[int], **settings: int) -> NaiveBayesPath:
    num_labels, num_buckets = max(labels) + 1, settings.get("num_buckets", 997)
    path = NaiveBayesPath(up_to=settings.get("up_to", 1), num_buckets=num_buckets, num_labels=num_labels, dropout=0.0)
    longest = max(map(len, documents))
    ids = torch.tensor([document + [0] * (longest - len(document)) for document in documents])
    counts = NgramCounts(num_labels)
    path.count(counts, ids, ids != 0, torch.tensor(labels))
    path.set_ratios(counts, min_count=settings.get("min_count", 1), smoothing=1.0)
    return path.eval()


def test_ratios_are_those_of_naive_bayes() -> None:
    # Token 7 is in two documents of label 0 (in one of them twice) and in one of label 1.
    path = path_with([[7, 7, 8], [7], [7, 9], [9]], [0, 0, 1, 1])
    seven, nine = (
        int(ngram_buckets(torch.tensor([[t]]), torch.tensor([[True]]), length=1, num_buckets=997)) for t in (7, 9)
    )
    in_first, in_second = 2 + 1 + 3, 1 + 2 + 3  # counts of each label over the three tokens, each plus the smoothing
    assert path.ratios[seven, 0].item() == pytest.approx(math.log((3 / in_first) / (2 / in_second)), abs=1e-6)
    assert path.ratios[nine, 1].item() == pytest.approx(math.log((3 / in_second) / (1 / in_first)), abs=1e-6)
    assert_close(path.ratios[:, 0], -path.ratios[:, 1])
    assert (path.ratios[0] == 0).all()


def test_rare_ngrams_tell_nothing() -> None:
    path = path_with([[7, 8], [7, 9]], [0, 1], min_count=2)
    assert int((path.owners != 0).sum()) == 1  # 8 and 9 are rare
    assert (path.ratios == 0).all(), "7 is in both alike"
    assert int((path_with([[7, 8], [7, 9]], [0, 1]).ratios != 0).any(dim=1).sum()) == 2


def test_a_bucket_belongs_to_its_most_frequent_ngram_and_others_are_not_taken_for_it() -> None:
    """With room for four, nine tokens and what else there may be cannot all have a bucket of their own."""
    documents = [[token] * 2 for token in range(1, 10) for _ in range(token)]
    path = path_with(documents, [number % 2 for number in range(len(documents))], num_buckets=5)
    buckets = {token: int(path.buckets(torch.tensor([[token]]), torch.tensor([[True]]))) for token in range(1, 200)}
    known = {token: bucket for token, bucket in buckets.items() if bucket}
    assert len(set(known.values())) == len(known) == int((path.owners != 0).sum()) <= 4
    hashed = {
        token: int(ngram_buckets(torch.tensor([[token]]), torch.tensor([[True]]), length=1, num_buckets=5))
        for token in range(1, 10)
    }
    assert set(known) == {max(t for t in hashed if hashed[t] == bucket) for bucket in set(hashed.values())}


def test_counts_are_the_same_however_many_documents_are_added_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = torch.randint(0, 50, (40, 7), generator=torch.Generator().manual_seed(1))
    labels = torch.randint(0, 3, (40,), generator=torch.Generator().manual_seed(2))
    together = NgramCounts(3)
    together.add(hashes, labels)
    monkeypatch.setattr("heedful.nn.ngrams._COUNTED_AT_ONCE", 10)
    one_by_one = NgramCounts(3)
    for row, label in zip(hashes.split(1), labels.split(1), strict=True):
        one_by_one.add(row, label)
    expected: Counter[tuple[int, int]] = Counter()
    for row, label in zip(hashes.tolist(), labels.tolist(), strict=True):
        expected.update((hashed, label) for hashed in set(row) if hashed)
    for counts in (together, one_by_one):
        known, found = counts.table(min_count=1)
        cells = {(int(h), k): int(c) for h, row in zip(known, found, strict=True) for k, c in enumerate(row) if c}
        assert cells == expected
        frequent, _ = counts.table(min_count=6)
        assert set(frequent.tolist()) == {int(h) for h, row in zip(known, found, strict=True) if row.sum() >= 6}


def test_three_labels_are_each_against_the_others() -> None:
    path = path_with([[5], [6], [7]], [0, 1, 2])
    logits = [path_logits(path, [token]) for token in (5, 6, 7)]
    assert [int(row.argmax()) for row in logits] == [0, 1, 2]


def path_logits(path: NaiveBayesPath, tokens: list[int]) -> torch.Tensor:
    with torch.no_grad():
        path.factors.fill_(1.0)
    ids = torch.tensor([tokens])
    result: torch.Tensor = path(ids, ids != 0)[0]
    return result


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=10))
def test_a_document_is_a_set_of_ngrams_and_its_tokens_share_what_it_adds(tokens: list[int]) -> None:
    path = path_with([[1, 2, 3], [4, 5, 6], [7, 8, 9], [1, 5, 9]], [0, 1, 0, 1], up_to=3)
    with torch.no_grad():
        path.factors.copy_(torch.rand(path.factors.shape, generator=torch.Generator().manual_seed(0)))
    ids = torch.tensor([tokens])
    by_length = path.buckets(ids, ids != 0)[0].view(path.up_to, len(tokens)).tolist()
    distinct = {(bucket, length) for length, row in enumerate(by_length, 1) for bucket in row if bucket}
    expected = sum((path.ratios[b] * path.factors[b] / length for b, length in distinct), torch.zeros(2))
    assert_close(path(ids, ids != 0)[0], expected, atol=1e-5, rtol=1e-5)
    assert_close(path.contributions(ids, ids != 0)[0].sum(dim=0), expected, atol=1e-5, rtol=1e-5)


def test_dropout_leaves_out_all_occurrences_of_an_ngram_and_keeps_the_mean() -> None:
    path = path_with([[7, 7, 7], [8]], [0, 1])
    with torch.no_grad():
        path.factors.fill_(1.0)
    ids = torch.full((4000, 3), 7)
    plain = path(ids[:1], ids[:1] != 0)[0, 0].item()
    path.dropout = 0.5
    path.train()
    torch.manual_seed(0)
    values = path(ids, ids != 0)[:, 0]
    assert sorted(set(values.round(decimals=3).tolist())) == pytest.approx([0.0, 2 * plain], abs=1e-3)
    assert values.mean().item() == pytest.approx(plain, rel=0.1)
