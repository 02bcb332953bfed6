"""What a newcomer meets: no model yet, no data yet, and the model that ships by its name."""

import json
from pathlib import Path

import pytest

import heedful as package
from heedful.corpora.catalogue import PUBLIC_CORPORA
from tests.support.commands import Command
from tests.support.small_run import SmallRun

ROOT = Path(__file__).parents[2]
FETCHABLE = [
    (path, corpus.name)
    for path in sorted((ROOT / "configs").glob("*.toml"))
    for corpus in PUBLIC_CORPORA
    if f'"data/{corpus.name}/' in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("verb", ["classify", "generate"])
def test_without_a_model_the_one_that_ships_for_the_verb_answers(verb: str, heedful: Command, tmp_path: Path) -> None:
    options = ("--seed", "1", "--max-tokens", "5") if verb == "generate" else ()
    by_default, by_name, by_full_name = (
        heedful(verb, "The film was", *model, *options, cwd=tmp_path)
        for model in ((), ("--model", "bundled"), ("--model", f"bundled-{'writer' if options else 'classifier'}"))
    )
    assert by_default.returncode == 0, by_default.stderr.decode()
    assert by_default.stdout == by_name.stdout == by_full_name.stdout
    assert by_default.stdout.strip()
    other = heedful(verb, "x", "--model", f"bundled-{'classifier' if options else 'writer'}", cwd=tmp_path)
    assert other.returncode == 2
    assert "here, but holds a " in other.stderr.decode()


@pytest.mark.parametrize(("config", "corpus"), FETCHABLE, ids=lambda value: getattr(value, "stem", value))
def test_a_config_whose_corpus_is_missing_names_the_command_that_fetches_it(
    config: Path, corpus: str, heedful: Command, tmp_path: Path
) -> None:
    # From another run's folder the student of Multi30k takes its weights: it is the corpus that is asked about here.
    result = heedful("check", config, "--tokens-per-second", "1000", cwd=tmp_path)
    assert result.returncode == 2
    assert f"must exist, but does not. Fetch the corpus: heedful data {corpus}\n" in result.stdout.decode()


def test_training_without_data_names_the_command_that_fetches_them(heedful: Command, tmp_path: Path) -> None:
    result = heedful("train", ROOT / "configs" / "multi30k_ende.toml", cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr.decode() == (
        "error: The file data/multi30k/tok/train.en.gz must exist, but does not. "
        "Fetch the corpus: heedful data multi30k\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_the_command_is_named_for_the_folder_that_heedful_data_would_write(heedful: Command, tmp_path: Path) -> None:
    config = ROOT / "configs" / "imdb_linear.toml"
    result = heedful("train", config, cwd=tmp_path, HEEDFUL_DATA=str(tmp_path / "elsewhere"))
    assert f"{tmp_path}/elsewhere/imdb/train.jsonl.gz must exist" in result.stderr.decode()
    assert "heedful data imdb" in result.stderr.decode()


def test_a_corpus_that_is_there_but_lacks_the_file_is_not_offered_again(heedful: Command, tmp_path: Path) -> None:
    (tmp_path / "data" / "imdb").mkdir(parents=True)
    result = heedful("train", ROOT / "configs" / "imdb_linear.toml", cwd=tmp_path)
    assert result.returncode == 2
    assert "heedful data" not in result.stderr.decode()


def test_bundled_is_the_name_of_the_model_that_ships(heedful: Command, tmp_path: Path) -> None:
    by_default = heedful("translate", "Good morning.", "--to", "de", cwd=tmp_path)
    by_name = heedful("translate", "Good morning.", "--to", "de", "--model", "bundled", cwd=tmp_path)
    assert by_name.returncode == 0, by_name.stderr.decode()
    assert by_name.stdout == by_default.stdout != b"\n"
    assert package.load("bundled").translate("Good morning.", to="de") + "\n" == by_default.stdout.decode()


def test_bundled_can_be_scored_exported_and_learned_from(heedful: Command, small_run: SmallRun, tmp_path: Path) -> None:
    files = [str(small_run.root / name) for name in ("test.en", "test.de")]
    languages = ["--from", "en", "--to", "de"]
    scored = heedful("evaluate", "bundled", "--data", *files, *languages, "--json", cwd=tmp_path)
    assert scored.returncode == 0, scored.stderr.decode()
    assert json.loads(scored.stdout)["lines"] == 60
    against = heedful(
        "evaluate", "bundled", "--against", "bundled", "--data", *files, *languages, "--json", cwd=tmp_path
    )
    assert json.loads(against.stdout)["comparisons"][0]["difference"] == 0
    exported = heedful("export", "bundled", "--format", "int8", "--out", "copy", cwd=tmp_path)
    assert exported.returncode == 0, exported.stderr.decode()
    assert (tmp_path / "copy" / "manifest.json").is_file()
    taken = heedful(
        "train", small_run.config, "tokenizer.take_from=bundled", "training.max_steps=1", f"runs_folder={tmp_path}/r",
        "name=taken", "training.average.count=1", cwd=small_run.root,
    )  # fmt: skip
    assert taken.returncode == 0, taken.stderr.decode()
    assert "assets/translator/tokenizer.json" in taken.stderr.decode()


def test_a_folder_called_bundled_wins_over_the_name(heedful: Command, small_run: SmallRun, tmp_path: Path) -> None:
    (tmp_path / "bundled").symlink_to(small_run.run / "model")
    own = heedful("translate", "at noon", "--model", small_run.run, cwd=tmp_path)
    named = heedful("translate", "at noon", "--model", "bundled", cwd=tmp_path)
    assert named.returncode == 0, named.stderr.decode()
    assert named.stdout == own.stdout


def test_the_bundled_model_is_not_changed_by_tuning(heedful: Command, small_run: SmallRun, tmp_path: Path) -> None:
    files = [str(small_run.root / name) for name in ("validation.en", "validation.de")]
    result = heedful("tune", "bundled", "--write", "--data", *files, "--from", "en", "--to", "de", cwd=tmp_path)
    assert result.returncode == 2
    assert "heedful export bundled --format int8 --out DIR" in result.stderr.decode()


def test_every_verb_takes_the_other_models_that_ship_by_name(heedful: Command, tmp_path: Path) -> None:
    (tmp_path / "texts").write_text("What a wonderful film.\nWhat a boring film.\n")
    (tmp_path / "labels").write_text("pos\nneg\n")
    scored = heedful("evaluate", "bundled-classifier", "--data", "texts", "labels", "--json", cwd=tmp_path)
    assert scored.returncode == 0, scored.stderr.decode()
    assert json.loads(scored.stdout)["documents"] == 2
    read = heedful("evaluate", "bundled-writer", "--text", "texts", "--json", cwd=tmp_path)
    assert read.returncode == 0, read.stderr.decode()
    assert json.loads(read.stdout)["bits_per_byte"] > 0
    explained = heedful("explain", "A dull film.", "--model", "bundled-classifier", cwd=tmp_path)
    assert explained.returncode == 0, explained.stderr.decode()
    copied = heedful("export", "bundled-writer", "--format", "int8", "--out", "copy", cwd=tmp_path)
    assert copied.returncode == 0, copied.stderr.decode()
    assert type(package.load("bundled-classifier")).__name__ == "Classifier"
    assert type(package.load(tmp_path / "copy")).__name__ == "TextModel"


def test_a_name_that_is_nearly_bundled_is_put_right(heedful: Command, tmp_path: Path) -> None:
    result = heedful("translate", "hello", "--model", "bundeld", cwd=tmp_path)
    assert result.returncode == 2
    assert 'Did you mean "bundled"' in result.stderr.decode()
