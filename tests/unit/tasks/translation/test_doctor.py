"""The doctor: what it finds, where, and how bad it is."""

from pathlib import Path
from typing import Any

import pytest

from heedful.config.data import DataConfig, FilterConfig, LineCorpus, TokenizerConfig
from heedful.config.models import TransformerConfig
from heedful.config.training import TrainingConfig
from heedful.config.translation import TranslationRun
from heedful.storage.descriptions import TranslatorDescription
from heedful.storage.locate import bundled_folder
from heedful.storage.model_folder import describe_model_folder
from heedful.tasks.translation.doctor import Examination, examine
from tests.support.small_corpus import ENGLISH, GERMAN, WriteCorpus

MODEL = TransformerConfig(dim=32, num_heads=2, hidden_dim=64, num_encoder_layers=1, num_decoder_layers=1)


def config_of(data: DataConfig, **training: Any) -> TranslationRun:
    return TranslationRun(
        name="x",
        data=data,
        tokenizer=TokenizerConfig(vocab_size=340),
        model=MODEL,
        training=TrainingConfig.model_validate({"max_steps": 10, "batch_tokens": 500, **training}),
    )


def sentences(examination: Examination) -> list[tuple[str, str]]:
    return [(finding.severity, finding.sentence) for finding in examination.findings]


@pytest.fixture
def held_out(write_corpus: WriteCorpus) -> LineCorpus:
    return write_corpus("held_out", ["the red star", "two old dogs"], ["der red star", "two old dogs am Himmel"])


def test_good_data_have_no_findings(write_corpus: WriteCorpus, held_out: LineCorpus) -> None:
    data = DataConfig(train=[write_corpus("train", ENGLISH, GERMAN)], validation=[held_out])
    found = examine(config_of(data))
    assert found.findings == []
    assert not found.has_errors
    assert found.corpora[0].num_pairs == 27
    assert found.corpora[0].source_lengths is not None
    assert found.corpora[0].source_lengths.longest >= found.corpora[0].source_lengths.median > 3
    assert found.estimate is not None
    assert found.estimate.num_batches * 500 >= found.estimate.num_target_tokens
    assert found.source_vocab_size == found.target_vocab_size
    assert 300 < (found.source_vocab_size or 0) <= 340


def test_faults_of_the_text_are_found_with_their_lines(write_corpus: WriteCorpus, held_out: LineCorpus) -> None:
    train = write_corpus("train", [*ENGLISH, "", ENGLISH[0], "la " * 100], [*GERMAN, "x", GERMAN[0], "la"])
    with Path(train.source).open("ab") as stream:
        stream.write(b"\xff\xfe bytes\n")
    with Path(train.target).open("ab") as stream:
        stream.write(b"bytes\n")
    data = DataConfig(train=[train], validation=[held_out], filters=FilterConfig(max_tokens=60))
    assert sentences(examine(config_of(data))) == [
        ("warning", "`data.train[0]`: 1 line (28) with an empty side is left out."),
        ("warning", f"{train.source}: 1 line (31) is not valid UTF-8; the bytes in question became U+FFFD."),
        ("note", "`data.train[0]`: 1 line (29) repeats an earlier pair."),
        ("note", "`data.train[0]`: 1 line (30) with more than 60 tokens (`data.filters.max_tokens`) is left out."),
    ]


def test_long_lists_of_lines_are_cut_and_much_left_out_is_a_warning(
    write_corpus: WriteCorpus, held_out: LineCorpus
) -> None:
    train = write_corpus("train", [*[""] * 9, *ENGLISH], [*["x"] * 9, *GERMAN])
    found = examine(config_of(DataConfig(train=[train], validation=[held_out])))
    assert sentences(found) == [
        ("warning", "`data.train[0]`: 9 lines (1, 2, 3, 4, 5, ...) with an empty side are left out."),
        ("warning", "`data.train[0]`: 25% of the pairs are left out. Are the files aligned?"),
    ]


def test_overlap_and_foreign_script_in_what_is_held_out(write_corpus: WriteCorpus) -> None:
    train = write_corpus("train", ENGLISH, GERMAN)
    validation = write_corpus("validation", [ENGLISH[3], "a red whale"], ["etwas anderes", "ein Wal"])
    test = write_corpus("test", ["犬は星を見る"], ["собака"])
    found = examine(config_of(DataConfig(train=[train], validation=[validation], test={"far": test})))
    assert found.corpora[1].num_in_training == 1
    assert sentences(found)[0] == (
        "warning",
        "`data.validation[0]`: 1 source sentence (50.0%) is also in the training corpora; scores will flatter.",
    )
    severity, sentence = sentences(found)[1]
    assert severity == "warning"
    assert sentence.startswith("`data.test.far`: ")
    assert "of the tokens are single bytes" in sentence


def test_every_corpus_that_cannot_be_read_is_an_error(write_corpus: WriteCorpus, tmp_path: Path) -> None:
    uneven = write_corpus("uneven", ["a", "b"], ["a"])
    missing = write_corpus("missing", ["a"], ["a"])
    Path(missing.source).unlink()
    found = examine(config_of(DataConfig(train=[uneven], validation=[missing])))
    assert found.has_errors
    assert found.estimate is None
    errors = sentences(found)
    assert [severity for severity, _ in errors] == ["error", "error"]
    assert errors[0][1].startswith("`data.train[0]`: The two files of a corpus must have equally many lines, but ")
    assert errors[1][1].startswith(f"`data.validation[0]`: The file {missing.source} must exist, but does not.")


def test_nothing_usable_is_an_error(write_corpus: WriteCorpus, held_out: LineCorpus) -> None:
    blank = write_corpus("blank", ["", ""], ["", ""])
    found = examine(config_of(DataConfig(train=[blank], validation=[held_out])))
    assert found.has_errors
    assert sentences(found)[0] == (
        "error",
        f"The training corpora must have a usable pair, but {blank.source} and {blank.target} have none.",
    )


def test_steps_and_batches_that_do_not_fit_the_data(write_corpus: WriteCorpus, held_out: LineCorpus) -> None:
    data = DataConfig(train=[write_corpus("train", ENGLISH, GERMAN)], validation=[held_out])
    found = examine(config_of(data, max_steps=100_000, batch_tokens=10), tokens_per_second=1000)
    assert found.estimate is not None
    assert found.estimate.seconds is not None
    severities = [severity for severity, _ in sentences(found)]
    assert severities == ["warning", "note"]
    assert sentences(found)[0][1].startswith("`training.batch_tokens` must be at least ")
    assert sentences(found)[1][1].startswith("`training.max_steps` = 100,000 goes through the training pairs 3,7")
    few = examine(config_of(data, max_steps=1, batch_tokens=64))
    assert [severity for severity, _ in sentences(few)] == ["note"]
    assert "sees only" in sentences(few)[0][1]


def test_a_tokenizer_that_is_taken_is_the_one_that_is_looked_at(
    write_corpus: WriteCorpus, held_out: LineCorpus
) -> None:
    bundled = bundled_folder()
    assert bundled is not None
    data = DataConfig(train=[write_corpus("train", ENGLISH, GERMAN)], validation=[held_out], target_language="de")
    config = config_of(data)
    taken = config.model_copy(update={"tokenizer": TokenizerConfig(take_from=str(bundled))})
    assert examine(taken).source_vocab_size == 20_000
    without = taken.model_copy(update={"data": data.model_copy(update={"target_language": "cs"})})
    assert examine(without).has_errors
    nowhere = config.model_copy(update={"tokenizer": TokenizerConfig(take_from="no such model")})
    assert examine(nowhere).has_errors


def test_a_run_that_starts_from_a_model_is_looked_at_with_its_tokenizer_and_shape(
    write_corpus: WriteCorpus, held_out: LineCorpus
) -> None:
    bundled = bundled_folder()
    assert bundled is not None
    data = DataConfig(train=[write_corpus("train", ENGLISH, GERMAN)], validation=[held_out], target_language="de")
    config = config_of(data, init_from=str(bundled))
    fitting = config.model_copy(update={"model": describe_model_folder(bundled, TranslatorDescription).model})
    found = examine(fitting)
    assert (found.findings, found.source_vocab_size) == ([], 20_000)
    assert sentences(examine(config)) == [
        (
            "error",
            "`model.dim` must be 384 as in `training.init_from`, but is 32. Leave it out to take what that model has.",
        )
    ]


def test_a_temperature_makes_the_epoch_as_long_as_the_run_will_see_it(
    write_corpus: WriteCorpus, held_out: LineCorpus
) -> None:
    corpora = [
        write_corpus("large", ENGLISH * 16, GERMAN * 16),
        write_corpus("small", ENGLISH, GERMAN, target_language="fr"),
    ]
    plain = examine(config_of(DataConfig(train=corpora, validation=[held_out]))).estimate
    warm = examine(config_of(DataConfig(train=corpora, validation=[held_out], temperature=2))).estimate
    assert plain is not None
    assert warm is not None
    # At temperature 2 the small direction is drawn as sqrt(1 / 16) of the large one: 16 + 4 parts instead of 16 + 1.
    assert warm.num_target_tokens / plain.num_target_tokens == pytest.approx(20 / 17)
