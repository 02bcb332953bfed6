"""`heedful distill`, from trained models to a student's corpora, and the runs around it."""

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from heedful.config.load import load_config
from heedful.errors import HeedfulError
from heedful.tasks.translation.distill import distill
from heedful.tasks.translation.load import load_translator
from tests.support.commands import Command
from tests.support.small_run import SmallRun


def pairs_of(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in gzip.decompress(path.read_bytes()).decode().splitlines()]


@pytest.fixture(scope="module")
def distilled(heedful: Command, small_run: SmallRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("distilled")
    config = out / "few.toml"
    text = small_run.config.read_text()
    for side in ("en", "de"):
        lines = (small_run.root / f"train.{side}").read_text().splitlines()[:40]
        (out / f"few.{side}").write_text("\n".join([*lines, *lines[:5], ""]) + "\n")  # five again, and one empty
    config.write_text(text.replace("train.en", str(out / "few.en")).replace("train.de", str(out / "few.de")))
    model = small_run.run
    result = heedful("distill", config, "--model", model, "-m", model, "--out", out / "text", cwd=small_run.root)
    assert result.returncode == 0, result.stderr.decode()
    assert result.stdout.decode().startswith(f'[[data.train]]\nkind = "tsv"\npath = "{out}/text/0.en-de.tsv.gz"\n')
    return out


def test_every_sentence_is_there_once_with_what_the_teacher_makes_of_it(
    heedful: Command, small_run: SmallRun, distilled: Path
) -> None:
    pairs = pairs_of(distilled / "text" / "0.en-de.tsv.gz")
    sources = [line for line in (distilled / "few.en").read_text().splitlines() if line]
    assert [source for source, _ in pairs] == list(dict.fromkeys(sources))
    asked = "".join(source + "\n" for source, _ in pairs).encode()
    result = heedful("translate", "--model", small_run.run, stdin=asked)
    assert [target for _, target in pairs] == result.stdout.decode().splitlines()


def test_a_student_learns_from_the_files_and_what_exists_is_not_made_again(
    heedful: Command, small_run: SmallRun, distilled: Path
) -> None:
    path = distilled / "text" / "0.en-de.tsv.gz"
    before = path.stat().st_mtime_ns
    result = heedful(
        "distill", distilled / "few.toml", "--model", small_run.run, "--out", distilled / "text", cwd=small_run.root
    )
    assert result.returncode == 0
    assert "is there already" in result.stderr.decode()
    assert path.stat().st_mtime_ns == before
    student = heedful(
        "train",
        small_run.config,
        f'data.train=[{{kind="tsv",path="{path}"}}]',
        "data.bidirectional=true",
        f"tokenizer.take_from={small_run.run}",
        "training.max_steps=2",
        "name=pupil",
        f"runs_folder={distilled / 'runs'}",
        cwd=small_run.root,
    )
    # The teacher's tokenizer has no tags, and a student of both directions needs them: a sentence says so.
    assert student.returncode == 2
    assert 'must know the target language "de", but knows none' in student.stderr.decode()


def test_wrong_requests_are_refused_with_a_sentence(heedful: Command, small_run: SmallRun, tmp_path: Path) -> None:
    without = heedful("distill", small_run.config, "--out", tmp_path / "x")
    assert without.returncode == 2
    assert "The teacher must be named: --model DIR" in without.stderr.decode()
    part = heedful("distill", small_run.config, "-m", small_run.run, "--part", "3/2", "--out", tmp_path / "x")
    assert part.returncode == 2
    assert "`--part` must be K/N with K from 1 to N, such as 1/4, but is 3/2." in part.stderr.decode()
    assert not (tmp_path / "x").exists()


def test_a_corpus_without_a_sentence_is_refused_and_nothing_is_written(
    heedful: Command, small_run: SmallRun, tmp_path: Path
) -> None:
    for side in ("en", "de"):
        (tmp_path / f"blank.{side}").write_text(" \n\n")
    corpus = f'data.train=[{{source="{tmp_path}/blank.en",target="{tmp_path}/blank.de"}}]'
    command = ("distill", small_run.config, corpus, "-m", small_run.run, "--out", tmp_path / "out")
    result = heedful(*command, cwd=small_run.root)
    assert result.returncode == 2
    assert "A corpus to translate must have a source with text, but " in result.stderr.decode()
    assert result.stdout == b""
    assert not (tmp_path / "out").exists()


def test_a_teacher_that_says_nothing_fit_to_learn_from_fails_and_writes_nothing(
    small_run: SmallRun, tmp_path: Path
) -> None:
    translator = load_translator(small_run.run, device="cpu", quantize="none")
    sources = (small_run.root / "test.en").read_text().splitlines()
    found = translator.translate_detailed(sources, beam_size=1)
    longer = [
        it.source
        for it in found
        if len(it.alternatives[0].token_log_probs) > len(translator.tokenizer.encode_source_batch([it.source])[0])
    ]
    assert longer
    # Allowed no token more than the source has, a greedy search breaks each of these off before its end.
    translator = replace(translator, decoding=translator.decoding.model_copy(update={"extra_tokens": 0}))
    (tmp_path / "long.tsv").write_text("".join(f"{source}\tx\n" for source in longer))
    data = load_config(small_run.config, [f'data.train=[{{kind="tsv",path="{tmp_path}/long.tsv"}}]']).data
    with pytest.raises(HeedfulError, match="at least one must be fit to learn from, but all are empty or were cut off"):
        distill(data, translator, tmp_path / "out", beam_size=1, say=lambda _: None)
    assert not (tmp_path / "out").exists()
