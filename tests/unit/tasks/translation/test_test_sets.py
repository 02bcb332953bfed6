"""Which test sets are meant, what is read of them, and what is left out as seen."""

from pathlib import Path

import pytest

from heedful.config import load_config
from heedful.config.translation import TranslationRun
from heedful.errors import UserError
from heedful.tasks.translation.test_sets import (
    TestSet,
    find_test_sets,
    find_validation_sets,
    read_sentences,
    read_unseen,
    run_of,
)

CONFIG = """
name = "several"

[data]
source_language = "en"
target_language = "de"
train = [
    { source = "train.en", target = "train.de" },
    { source = "train.en", target = "train.zh", target_language = "zh" },
]
validation = [{ source = "train.en", target = "train.de" }, { source = "t.en", target = "t.de" }]

[data.test]
short = { source = "t.en", target = "t.de" }
cut = { source = "t.en", target = "t.zh", target_language = "zh" }
"""
FILES = {
    "train.en": ["seen source", "another"],
    "train.de": ["ganz anders", "gesehenes Ziel"],
    "train.zh": ["见过的目标", "别的"],
    "t.en": ["new", "new", " seen source", "newer", "new"],
    "t.de": ["neu", "frisch", "nie gesehen", "gesehenes Ziel", "neu"],
    "t.zh": ["新", "见过的目标", "甲", "乙", "丙"],
}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a run folder, and files beside it, with names relative to where the test works."""
    monkeypatch.chdir(tmp_path)
    for name, lines in FILES.items():
        Path(name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    Path("runs/several/model").mkdir(parents=True)
    Path("runs/several/config.toml").write_text(CONFIG, encoding="utf-8")
    return Path("runs/several")


def settings(run: Path) -> TranslationRun:
    return load_config(run / "config.toml")


def test_every_test_set_has_its_direction_and_its_tokenizer(run: Path) -> None:
    found = find_test_sets(settings(run))
    assert [(it.title, it.tokenize) for it in found] == [("short en→de", "13a"), ("cut en→zh", "zh")]
    assert run_of(run) == run_of(run / "model") == settings(run)
    assert [it.tokenize for it in find_test_sets(settings(run), tokenize="char")] == ["char", "char"]


def test_both_ways_means_every_test_set_twice(run: Path) -> None:
    (run / "config.toml").write_text(CONFIG.replace("[data]", "[data]\nbidirectional = true"), encoding="utf-8")
    found = find_test_sets(settings(run))
    assert [it.title.split()[1] for it in found] == ["en→de", "en→zh", "de→en", "zh→en"]
    assert [it.tokenize for it in found] == ["13a", "zh", "13a", "13a"]
    assert list(read_sentences(found[2]).sources) == FILES["t.de"]
    assert [it.title.split()[1] for it in find_test_sets(settings(run), source_language="zh")] == ["zh→en"]


def test_a_direction_or_a_split_chooses(run: Path) -> None:
    assert [it.name for it in find_test_sets(settings(run), target_language="zh")] == ["cut"]
    assert [it.name for it in find_test_sets(settings(run), split="short")] == ["short"]
    assert [it.title for it in find_validation_sets(settings(run))] == ["validation en→de"] * 2


def test_files_are_taken_as_they_are_said_to_be(run: Path) -> None:
    files = (Path("t.en"), Path("t.zh"))
    assert [(it.title, it.tokenize) for it in find_test_sets(settings(run), files=files)] == [("t.en", "13a")]
    [said] = find_test_sets(None, files=files, source_language="en", target_language="zh")
    assert (said.title, said.tokenize) == ("t.en en→zh", None)


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        ({"split": "shrt"}, 'The split must be one of "short", "cut", but is "shrt". Did you mean "short"?'),
        (
            {"target_language": "fr"},
            "There must be a test set from any language into fr, but there are only these: short en→de, cut en→zh.",
        ),
    ],
)
def test_what_is_not_there_gets_a_sentence(run: Path, request_: dict[str, str], sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        find_test_sets(settings(run), **request_)  # type: ignore[arg-type]
    assert str(caught.value) == sentence


def test_a_model_without_a_run_names_nothing_but_a_config_does(run: Path, tmp_path: Path) -> None:
    assert run_of(None) is None
    assert run_of(tmp_path) is None
    for find, kind in ((find_test_sets, "test"), (find_validation_sets, "validation")):
        with pytest.raises(UserError, match=f"^A {kind} set must be named, because the model is not in the folder of"):
            find(None)
    assert run_of(None, run) == run_of(tmp_path, run / "config.toml") == settings(run)
    with pytest.raises(UserError, match="must be a config file or a run folder, but is neither"):
        run_of(run, tmp_path)


def test_references_are_single_or_all(run: Path) -> None:
    [short, _] = find_test_sets(settings(run))
    single = read_sentences(short)
    assert list(single.sources) == FILES["t.en"]
    assert list(single.references) == [[line] for line in FILES["t.de"]]
    together = read_sentences(short, all_references=True)
    assert list(together.sources) == ["new", " seen source", "newer"]
    assert list(together.references) == [["neu", "frisch"], ["nie gesehen"], ["gesehenes Ziel"]]
    assert (single.num_references, together.num_references) == (5, 4)


def test_what_training_has_seen_on_either_side_is_left_out(run: Path) -> None:
    test_sets = find_test_sets(settings(run))
    german, chinese = read_unseen(test_sets, settings(run))
    assert list(german.sources) == ["new", "new", "new"]
    assert list(chinese.references) == [["新"], ["乙"], ["丙"]]
    assert (german.num_left_out, chinese.num_left_out) == (2, 2)
    [together] = read_unseen(test_sets[:1], settings(run), all_references=True)
    assert list(together.references) == [["neu", "frisch"]]


def test_a_sentence_seen_in_another_language_is_not_seen(run: Path) -> None:
    Path("train.zh").write_text("neu\nfrisch\n", encoding="utf-8")
    [german, _] = read_unseen(find_test_sets(settings(run)), settings(run))
    assert german.num_left_out == 2


def test_a_test_set_must_not_be_seen_as_a_whole(run: Path) -> None:
    [short, _] = find_test_sets(settings(run))
    seen = TestSet("all", settings(run).data.train[0], source_language="en", target_language="de")
    with pytest.raises(UserError, match="At least one pair of all en→de must be unseen"):
        read_unseen([short, seen], settings(run))
    with pytest.raises(UserError, match="The training text must be known, but the model"):
        read_unseen([short], run_of(None))
