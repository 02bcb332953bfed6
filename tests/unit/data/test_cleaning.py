"""A spoilt corpus comes out as the sound one it was made of, or without what cannot be repaired."""

from heedful.data.cleaning import CleaningReport, clean_pairs
from heedful.data.corpus_faults import CorpusFaults, HeldOut, whole_pair
from heedful.data.line_faults import Languages
from heedful.data.readers import Pair
from tests.support import spoilt_corpora as spoilt

TO_GERMAN = Languages("en", "de")


def cleaned(pairs: spoilt.Pairs, held_out: HeldOut | None = None) -> tuple[spoilt.Pairs, CleaningReport]:
    report = CleaningReport()
    kept = clean_pairs(
        lambda: (Pair(*pair, line) for line, pair in enumerate(pairs, start=1)), TO_GERMAN, held_out, report
    )
    found = [(pair.source, pair.target) for pair in kept]
    assert report.num_read == len(pairs)
    assert report.num_kept == len(found) == report.num_read - report.left_out.total()
    return found, report


def test_a_sound_corpus_stays_as_it_is() -> None:
    found, report = cleaned(spoilt.sound())
    assert found == spoilt.sound()
    assert not report.repaired
    assert not report.left_out


def test_exchanged_sides_and_mojibake_are_put_right() -> None:
    for pairs, rule in ((spoilt.exchanged(), "exchanged"), (spoilt.mojibake(), "mojibake")):
        found, report = cleaned(pairs)
        assert found == spoilt.sound()
        assert set(report.repaired) == {rule}


def test_single_exchanged_pairs_are_put_back_and_short_ones_among_many_too() -> None:
    pairs = spoilt.sound()
    some = [(pair[1], pair[0]) if number % 7 == 3 else pair for number, pair in enumerate(pairs)]
    assert cleaned(some)[0] == pairs
    second_half = [*pairs[:200], *((german, english) for english, german in [*pairs[200:300], ("Yes.", "Ja.")])]
    assert cleaned(second_half)[0] == [*pairs[:300], ("Yes.", "Ja.")]


def test_shifted_sides_are_put_together_but_for_a_few_lines_where_it_begins() -> None:
    found, report = cleaned(spoilt.shifted(lost=200))
    assert set(found) <= set(spoilt.sound())
    assert len(found) >= 400 - 12
    assert report.repaired["shifted"] >= 180


def test_copies_and_other_languages_are_left_out() -> None:
    for pairs, rule in ((spoilt.copied(), "copy"), (spoilt.half_french(), "other_language")):
        found, report = cleaned(pairs)
        assert found == spoilt.sound()[::2]
        assert report.left_out == {rule: 200}


def test_empty_lines_markup_and_what_is_held_out() -> None:
    pairs, held_out = spoilt.sound(), HeldOut()
    for source, target in pairs[:10]:
        held_out.note(whole_pair(source.upper(), target.rstrip(".")), CorpusFaults(), "")
    found, report = cleaned([*pairs[:50], ("", "x"), ("<b>Yes</b>", "Ja<br/>")], held_out)
    assert found == [*pairs[10:50], ("Yes", "Ja")]
    assert report.left_out == {"held_out": 10, "empty": 1}
    assert report.repaired == {"markup": 2}
