"""The aligner: its table against a dictionary, its symmetrisation against published loops, its links against truth."""

from collections import Counter

import numpy as np
import pytest

from heedful.data.alignment.model import AlignmentModel, Corpus
from heedful.data.alignment.pair_table import PairTable, count_pairs
from heedful.data.alignment.symmetrization import Symmetrization, symmetrized
from heedful.text.ragged import Ragged, ragged_from_lengths
from tests.support.known_alignments import Known, Link, known_alignments, scores


def numbered(sentences: list[list[str]]) -> tuple[Ragged, int]:
    numbers: dict[str, int] = {}
    ids = [numbers.setdefault(word, len(numbers)) for sentence in sentences for word in sentence]
    lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int32)
    return ragged_from_lengths(np.array(ids, dtype=np.int32), lengths), len(numbers)


def corpus_of(known: list[Known]) -> Corpus:
    source, num_source = numbered([pair.source for pair in known])
    target, num_target = numbered([pair.target for pair in known])
    return Corpus(source, target, num_source, num_target)


def aligned(model: AlignmentModel, how: Symmetrization) -> list[set[Link]]:
    found: list[set[Link]] = [set() for _ in range(len(model.corpus))]
    for group in model.corpus.groups():
        links = model.align(group)
        for number, some in zip(group.numbers, symmetrized(links.forth, links.back, how), strict=True):
            found[number] = set(some)
    return found


def test_a_table_gives_every_pair_a_place_of_its_own_and_others_none() -> None:
    drawn = np.random.default_rng(0)
    pairs = np.unique(drawn.integers(0, 1 << 40, size=5000))
    table = PairTable(pairs)
    places = table.places(pairs)
    assert len(set(places.tolist())) == len(pairs)
    assert places.max() < table.size
    assert (table.pairs_at(0, table.size)[places] == pairs).all()
    others = np.setdiff1d(drawn.integers(0, 1 << 40, size=5000), pairs).reshape(1, -1)
    assert (table.places(others) == table.size).all()


def test_pairs_that_occur_more_than_once_are_kept_and_the_rarest_forgotten_when_there_are_too_many() -> None:
    drawn = np.random.default_rng(1)
    blocks = [drawn.zipf(1.3, size=2000).clip(max=1 << 30) for _ in range(20)]
    truth = Counter(np.concatenate(blocks).tolist())
    table = count_pairs(blocks)
    wanted = np.array(sorted(truth))
    assert ((table.places(wanted) < table.size) == np.array([truth[one] > 1 for one in sorted(truth)])).all()
    few = count_pairs(blocks, most=50)
    held = few.pairs_at(0, few.size)
    held = held[held >= 0]
    assert 10 < len(held) <= 50
    assert min(truth[one] for one in held.tolist()) >= sorted(truth.values(), reverse=True)[60]


def test_what_is_constructed_is_found() -> None:
    known = known_alignments(2000)
    model = AlignmentModel(corpus_of(known))
    model.learn()
    precision, recall = scores(aligned(model, "grow-diag-final-and"), known)
    assert precision >= 0.95
    assert recall >= 0.95
    both = aligned(model, "intersection")
    assert scores(both, known)[0] >= 0.98
    union = aligned(model, "union")
    assert all(some <= more for some, more in zip(both, union, strict=True))


def test_rounds_make_the_corpus_more_probable() -> None:
    model = AlignmentModel(corpus_of(known_alignments(300)))
    found = [model.learn_once() for _ in range(4)]
    assert found[0] < found[1] < found[2]
    assert found[3] > found[2] - 0.05  # what grows in every round is a bound of it: there is a prior


def test_the_diagonal_draws_only_where_words_keep_their_order() -> None:
    in_order = known_alignments(600, seed=3)
    backwards = [
        Known(
            pair.source, pair.target[::-1], {(source, len(pair.target) - 1 - target) for source, target in pair.links}
        )
        for pair in in_order
    ]
    models = []
    for known in (in_order, backwards):
        model = AlignmentModel(corpus_of(known))
        model.learn()
        precision, recall = scores(aligned(model, "grow-diag-final-and"), known)
        assert min(precision, recall) > 0.85, (precision, recall)
        models.append(model)
    assert models[0].sides[0].tension > 4 > models[1].sides[0].tension


def test_what_is_restored_goes_on_as_if_never_stopped() -> None:
    corpus = corpus_of(known_alignments(300))
    one, other = AlignmentModel(corpus), AlignmentModel(corpus)
    one.learn(2)
    other.restore(one.state())
    assert one.learn_once() == other.learn_once()
    assert all(np.array_equal(values, other.state()[name]) for name, values in one.state().items())


def grown(forth: np.ndarray, back: np.ndarray) -> set[Link]:
    """The loops of Koehn et al. (2005) as they are published, over cells of a matrix."""
    found, union = forth & back, forth | back
    grows = True
    while grows:
        grows = False
        for source in range(found.shape[1]):
            for target in range(found.shape[0]):
                if not found[target, source]:
                    continue
                for right, down in ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)):
                    x, y = source + right, target + down
                    inside = 0 <= x < found.shape[1] and 0 <= y < found.shape[0]
                    if inside and union[y, x] and not (found[:, x].any() and found[y].any()):
                        found[y, x] = grows = True
    for direction in (forth, back):
        for source in range(found.shape[1]):
            for target in range(found.shape[0]):
                if direction[target, source] and not found[:, source].any() and not found[target].any():
                    found[target, source] = True
    return {(int(source), int(target)) for target, source in np.argwhere(found)}


def test_links_grow_as_published() -> None:
    drawn = np.random.default_rng(5)
    for _ in range(300):
        height, width = drawn.integers(1, 8, size=2)
        near = np.minimum(np.arange(height) * width // height + drawn.integers(0, 2, size=height), width - 1)
        forth = np.arange(width) == near[:, None]
        far = np.minimum(np.arange(width) * height // width + drawn.integers(0, 2, size=width), height - 1)
        back = np.arange(height)[:, None] == far
        found = set(symmetrized(forth[None], back[None], "grow-diag-final-and")[0])
        wanted = grown(forth.copy(), back.copy())
        assert {*symmetrized(forth[None], back[None], "intersection")[0]} <= found
        assert found == wanted


@pytest.mark.parametrize("lengths", [(0, 3), (3, 0), (600, 2), (1, 1)])
def test_a_pair_of_any_length_is_aligned_or_passed_over(lengths: tuple[int, int]) -> None:
    sides = [[f"{side}{number}" for number in range(length)] for side, length in zip("st", lengths, strict=True)]
    known = [Known(sides[0], sides[1], set()), *known_alignments(5)]
    model = AlignmentModel(corpus_of(known))
    model.learn(2)
    found = aligned(model, "grow-diag-final-and")
    assert bool(found[0]) == (lengths == (1, 1))
    assert all(found[1:])
