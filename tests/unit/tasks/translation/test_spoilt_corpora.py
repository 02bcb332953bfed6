"""The doctor names what spoils a corpus, with the line, and has nothing to say of a sound one."""

import pytest

from heedful.config.data import DataConfig, TokenizerConfig
from heedful.config.models import TransformerConfig
from heedful.config.training import TrainingConfig
from heedful.config.translation import TranslationRun
from heedful.tasks.translation.doctor import examine
from tests.support import spoilt_corpora as spoilt
from tests.support.small_corpus import WriteCorpus

MODEL = TransformerConfig(dim=32, num_heads=2, hidden_dim=64, num_encoder_layers=1, num_decoder_layers=1)
HELD_OUT = [("Good evening, dear friends.", "Guten Abend, liebe Freunde."), ("I am tired.", "Ich bin müde.")]


def warnings_of(write_corpus: WriteCorpus, pairs: spoilt.Pairs, held_out: spoilt.Pairs = HELD_OUT) -> list[str]:
    train, validation = (
        write_corpus(name, [source for source, _ in part], [target for _, target in part])
        for name, part in (("train", pairs), ("held_out", held_out))
    )
    config = TranslationRun(
        name="x",
        data=DataConfig(source_language="en", target_language="de", train=[train], validation=[validation]),
        tokenizer=TokenizerConfig(vocab_size=400),
        model=MODEL,
        training=TrainingConfig(max_steps=10, batch_tokens=500),
    )
    return [finding.sentence for finding in examine(config).findings if finding.severity != "note"]


def test_a_sound_corpus_gives_no_alarm(write_corpus: WriteCorpus) -> None:
    assert warnings_of(write_corpus, spoilt.sound()) == []


@pytest.mark.parametrize(
    ("pairs", "words", "place"),
    [
        (spoilt.exchanged(), "have the sides exchanged, the source in de and the target in en", "train.en:1, "),
        (spoilt.copied(), "200 lines (50.0%) are copies", "train.de:2, "),
        (spoilt.half_french(), "200 lines (50.0%) are in another language on a side (fr)", "train.de:2, "),
        (spoilt.mojibake(), "are mojibake", "train.de:"),
    ],
)
def test_spoilt_lines_are_named_with_the_first_of_them(
    write_corpus: WriteCorpus, pairs: spoilt.Pairs, words: str, place: str
) -> None:
    (warning,) = warnings_of(write_corpus, pairs)
    assert warning.startswith("`data.train[0]`: ")
    assert words in warning
    assert place in warning


def test_a_shift_is_named_with_the_line_where_it_begins(write_corpus: WriteCorpus) -> None:
    (warning,) = warnings_of(write_corpus, spoilt.shifted(lost=200))
    begins, _, told = warning.removeprefix("`data.train[0]`: from line ").partition(" ")
    assert abs(int(begins) - 200) <= 3
    assert told.startswith("to the end the sides are shifted: the target of a source stands 1 line later.")


def test_near_duplicates_of_what_is_held_out_are_named_with_both_places(write_corpus: WriteCorpus) -> None:
    source, target = spoilt.sound()[41]
    (warning,) = warnings_of(write_corpus, spoilt.sound(), [*HELD_OUT, (f"{source} Yes", target)])
    assert "`data.validation[0]`: 1 pair (33.3%) has a near duplicate in the training corpora (" in warning
    assert "held_out.en:3 as " in warning
    assert "train.en:42); scores will flatter." in warning
