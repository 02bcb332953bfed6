"""`heedful align`: what it writes, what it refuses, and that it goes on where it was stopped."""

from pathlib import Path

import pytest

from heedful.config.data import LineCorpus
from heedful.data.alignment.model import AlignmentModel
from heedful.tasks.translation.corpus_alignment import align_corpus
from tests.support.commands import Command
from tests.support.known_alignments import known_alignments, scores


def write_sides(folder: Path, pairs: list[tuple[str, str]]) -> LineCorpus:
    for name, side in zip(("source", "target"), zip(*pairs, strict=True), strict=True):
        (folder / name).write_text("\n".join(side) + "\n", encoding="utf-8")
    return LineCorpus(source=str(folder / "source"), target=str(folder / "target"))


def links_of(path: Path) -> list[set[tuple[int, int]]]:
    lines = path.read_text().split("\n")[:-1]
    return [{(int(a), int(b)) for a, _, b in (link.partition("-") for link in line.split())} for line in lines]


def test_a_corpus_is_aligned_in_both_directions_and_together(heedful: Command, tmp_path: Path) -> None:
    known = known_alignments(1500)
    write_sides(tmp_path, [(" ".join(pair.source), " ".join(pair.target)) for pair in known])
    result = heedful("align", "source", "target", "--out", "links", "--directions", cwd=tmp_path)
    assert result.returncode == 0, result.stderr.decode()
    assert result.stderr.decode().splitlines()[-1].endswith("links of 1,500 pairs in links.")
    together = links_of(tmp_path / "links")
    assert min(scores(together, known)) > 0.93
    forward, reverse = links_of(tmp_path / "links.forward"), links_of(tmp_path / "links.reverse")
    for one, ahead, back in zip(together, forward, reverse, strict=True):
        assert ahead & back <= one <= ahead | back
        assert len({target for _, target in ahead}) == len(ahead)
        assert len({source for source, _ in back}) == len(back)
    assert not list(tmp_path.glob("*.work"))


def test_hostile_lines_keep_their_places(heedful: Command, tmp_path: Path) -> None:
    lines = [("the dog", "der Hund"), ("the cat", "die Katze"), ("dog", "Hund")] * 5
    odd = [
        ("", "leer"),
        ("x " * 600, "y"),
        ("你好 世界", "hello world"),
        ("😀\u2028b", "😀 b"),
        ("\t", " "),
        ("!!!", "!"),
    ]
    write_sides(tmp_path, [*lines, *odd, *lines])
    result = heedful("align", "source", "target", "--out", "links", cwd=tmp_path)
    assert result.returncode == 0, result.stderr.decode()
    found = (tmp_path / "links").read_text().split("\n")[:-1]
    assert len(found) == 36
    assert found[0] == "0-0 1-1"
    assert found[15] == found[16] == found[19] == ""
    assert found[20] == "0-0"
    assert "3 pairs with an empty side or more than 512 words" in result.stderr.decode()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("source", "target"), "--out FILE"),
        (("source", "target", "--out", "."), "must be a file"),
        (("source", "nowhere", "--out", "links"), "nowhere"),
        (("source", "short", "--out", "links"), "short"),
        (("source", "target", "--out", "links", "--symmetrize", "both"), "must be one of grow-diag-final-and"),
    ],
)
def test_what_cannot_be_aligned_is_refused(
    heedful: Command, tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    write_sides(tmp_path, [("a b", "c d"), ("e", "f")])
    (tmp_path / "short").write_text("c d\n")
    result = heedful("align", *arguments, cwd=tmp_path)
    assert result.returncode == 2, result.stderr.decode()
    assert sentence in result.stderr.decode()
    assert not (tmp_path / "links").exists()


def test_what_was_stopped_goes_on_and_ends_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [(" ".join(pair.source), " ".join(pair.target)) for pair in known_alignments(200)]
    corpus = write_sides(tmp_path, pairs)
    align_corpus(corpus, tmp_path / "whole")
    learn = AlignmentModel.learn_once
    rounds: list[int] = []

    def stopped_in_the_third(model: AlignmentModel) -> float:
        rounds.append(len(rounds))
        if len(rounds) == 3:
            raise KeyboardInterrupt
        return learn(model)

    monkeypatch.setattr(AlignmentModel, "learn_once", stopped_in_the_third)
    with pytest.raises(KeyboardInterrupt):
        align_corpus(corpus, tmp_path / "links")
    assert not (tmp_path / "links").exists()
    said: list[str] = []
    align_corpus(corpus, tmp_path / "links", say=said.append)
    assert said[1] == "Going on after round 2."
    assert len(rounds) == 6  # the third was begun twice
    assert (tmp_path / "links").read_bytes() == (tmp_path / "whole").read_bytes()
    (tmp_path / "links.work").mkdir()
    align_corpus(corpus, tmp_path / "links")  # an empty folder of an earlier run is none to go on with
