"""The classifier that ships with the package: whole, small, right about plain sentences, and honest about itself."""

import json
import re
from pathlib import Path

import pytest

from heedful.files import verify_manifest
from heedful.storage.locate import bundled_folder
from heedful.tasks.classification.classifier import Classifier, load_classifier
from tests.support.commands import Command

ROOT = Path(__file__).parents[2]
CARD = (ROOT / "docs" / "bundled-classifier.md").read_text(encoding="utf-8")
PLAIN = {
    "pos": (
        "I loved it.",
        "A wonderful film with great actors.",
        "This is one of the best movies I have ever seen.",
        "The story is touching and beautifully told.",
        "Funny, clever and moving from beginning to end.",
        "My whole family enjoyed every minute of it.",
        "An excellent script and superb performances.",
        "It made me laugh and cry, and I will watch it again.",
        "Highly recommended to everyone who loves the cinema.",
        "A brilliant and unforgettable masterpiece.",
    ),
    "neg": (
        "I hated it.",
        "What a waste of two hours.",
        "This is one of the worst movies I have ever seen.",
        "The plot is stupid and the acting is terrible.",
        "Boring, predictable and far too long.",
        "I fell asleep after twenty minutes.",
        "The dialogue is awful and the jokes are not funny.",
        "A complete mess, do not watch it.",
        "Poor direction, a weak script and no tension at all.",
        "The ending was disappointing and made no sense.",
    ),
}
"""Sentences as plain as they come, written for this test."""


@pytest.fixture(scope="module")
def classifier() -> Classifier:
    return load_classifier(device="cpu")


def test_it_is_small_and_whole() -> None:
    folder = bundled_folder("classification")
    assert folder is not None
    assert sum(file.stat().st_size for file in folder.iterdir()) <= 4_000_000
    verify_manifest(folder)


@pytest.mark.parametrize("label", ["pos", "neg"])
def test_it_is_right_about_plain_sentences(classifier: Classifier, label: str) -> None:
    decided = [found.label for found in classifier.classify_lines(PLAIN[label])]
    assert decided.count(label) >= 9, list(zip(decided, PLAIN[label], strict=True))


def test_words_that_say_it_moved_the_decision(heedful: Command, tmp_path: Path) -> None:
    result = heedful("classify", "The acting is terrible.", "--json", cwd=tmp_path)
    assert result.returncode == 0, result.stderr.decode()
    found = json.loads(result.stdout)
    assert found["label"] == "neg"
    assert max(found["words"], key=lambda word: word["influence"])["word"] == "terrible"


@pytest.mark.parametrize("text", ["", "🎬", "好电影", "a" * 5000, "good film " * 2000])
def test_anything_gets_one_line(text: str, heedful: Command, tmp_path: Path) -> None:
    result = heedful("classify", stdin=text.encode() + b"\n", cwd=tmp_path)
    assert result.returncode == 0, result.stderr.decode()
    assert result.stdout.count(b"\n") == 1


def test_its_card_says_what_it_is() -> None:
    folder = bundled_folder("classification")
    assert folder is not None
    assert (folder / "README.md").read_text(encoding="utf-8") == CARD, "export it again with --card"
    for named in ("Maas", "IMDb", "licence", "configs/bundled_classifier.toml", "What it is not good for"):
        assert named in CARD


def test_what_its_card_says_of_sentences_is_true(classifier: Classifier) -> None:
    rows = re.findall(r"^\| ([^|]+) \| (pos|neg) \| (\d+) % \|", CARD, re.MULTILINE)
    assert len(rows) >= 8
    for (text, label, percent), found in zip(rows, classifier.classify_lines([row[0] for row in rows]), strict=True):
        assert found.label == label, text
        assert 100 * found.probability == pytest.approx(int(percent), abs=1.5), text
