"""The flags: what they must catch, and the ordinary text they must leave alone."""

from dataclasses import replace

import pytest

from heedful.tasks.translation.doubts import (
    Output,
    OutputWarning,
    find_warnings,
    is_copied,
    is_foreign,
    is_length_off,
    is_looping,
    is_spelled_out,
    is_unsure,
    leftover_words,
)

GOOD = Output(
    source="Where is the station?",
    text="Wo ist der Bahnhof?",
    target_language="de",
    token_log_probs=[-0.1, -0.2, -0.1, -0.1, -0.1, -0.05],
    finish_reason="eos",
    num_source_tokens=7,
)


def codes(output: Output) -> list[str]:
    return [warning.code for warning in find_warnings(output)]


def test_a_good_translation_has_no_warning() -> None:
    assert codes(GOOD) == []


def test_every_flag_has_its_code_and_a_sentence() -> None:
    bad = replace(
        GOOD,
        text="where is the where is the where is the where is the",
        token_log_probs=[-3.0] * 60,
        finish_reason="length",
        num_unknown=9,
    )
    assert codes(bad) == [
        "truncated", "low_confidence", "looping", "copied", "length", "unknown_characters",
    ]  # fmt: skip
    assert all(str(warning)[0].islower() and str(warning).endswith(".") for warning in find_warnings(bad))
    assert codes(replace(GOOD, finish_reason="error")) == ["broken"]
    left = replace(GOOD, text="车站 station 在哪里？", target_language="zh")
    assert list(find_warnings(left)) == [
        OutputWarning("leftover_words", "the translation has untranslated words: station.")
    ]


def test_a_lost_negation_and_a_lost_name_are_flagged_where_the_languages_are_known() -> None:
    lost = replace(GOOD, source="I did not meet Müller.", text="Ich traf sie gestern.", source_language="en")
    assert [str(warning) for warning in find_warnings(lost)] == [
        "the translation seems to have lost a negation.",
        "names of the input are missing: Müller.",
    ]
    assert codes(replace(lost, source="I met her.", text="Ich traf sie nicht.")) == ["negation"]
    assert codes(replace(lost, source_language=None)) == []
    assert codes(replace(lost, source_language="cs")) == []


def test_words_that_are_cut_into_letters_are_unknown() -> None:
    keys = replace(GOOD, source="asdkjh aslkdj qwpoei", text="Das ist gut so.", num_source_tokens=17)
    assert codes(keys) == []  # nobody knows how long pieces usually are
    assert codes(replace(keys, letters_per_piece=1.5)) == ["unknown_words"]
    assert codes(replace(keys, letters_per_piece=1.5, num_source_tokens=8)) == []
    for source in ("YOU DO NOT ANSWER ME.", "9f8e7d6c 5b4a39 28ff01 aa33", "你好吗", "So is it."):
        assert not is_spelled_out(source, 40, 1.5)


def test_confidence_is_the_mean_log_probability_of_a_token() -> None:
    assert not is_unsure([-0.1, -2.0, -0.1], threshold=-1.0)
    assert is_unsure([-0.1, -2.0, -1.1], threshold=-1.0)
    assert is_unsure([float("nan")], threshold=-1.0)
    assert not is_unsure([], threshold=-1.0)
    assert "low_confidence" in [w.code for w in find_warnings(GOOD, low_confidence=-0.01)]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("The committee deferred it.", "Der Ausschuss Ausschuss Ausschuss Ausschuss Ausschuss"),
        ("An abstract matter.", "in der Sache, in der Sache, in der Sache"),
        ("An abstract matter.", "在这里在这里在这里"),
        ("A fruit.", "Eine banabanabanabanabana"),
        ("Very well.", "très très bien, très très bien, très très bien, très très bien"),
    ],
)
def test_going_round_in_circles_is_found(source: str, text: str) -> None:
    assert is_looping(source, text)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("I love you very, very much.", "Je t'aime très, très fort."),
        ("Ha ha ha ha ha!", "哈哈哈哈哈！"),
        ("Hahahahaha!", "哈哈哈哈哈哈！"),
        ("No, no, no, no, no, no!", "Nein, nein, nein, nein, nein, nein!"),
        ("The big dog and the small dog saw the cat.", "Der große Hund und der kleine Hund sahen die Katze."),
        ("Mississippi", "Mississippi"),
        ("", ""),
    ],
)
def test_ordinary_repetition_is_no_loop(source: str, text: str) -> None:
    assert not is_looping(source, text)


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("We have to overhaul the quarterly methodology.", "We have to overhaul the Methodologie.", True),
        ("We have to overhaul it.", "we have to overhaul it", True),
        ("Das Hotel ist in Berlin.", "The hotel is in Berlin.", False),
        ("Tom Miller met Mary Jones in New York.", "Tom Miller traf Mary Jones in New York.", False),
        ("See www.example.com or mail tom@example.org, room 12.", "Siehe www.example.com, tom@example.org, 12.", False),
        ("Die Information ist international.", "The information is international.", False),
    ],
)
def test_copied_text_is_told_from_names_numbers_and_addresses(source: str, text: str, expected: bool) -> None:
    assert is_copied(source, text) == expected


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("我 love 乡村。", "zh", ["love"]),
        ("我弟弟宁愿读书 als看电视。", "zh", ["als"]),
        ("汤姆有一部Apple的iPhone。", "zh", []),
        ("他每天跑5 km。", "zh", []),
        ("现在看example.com。", "zh", []),
        ("How are 你?", "en", ["你"]),
        ("Wo ist es?", "de", []),
        ("哪里", "zh", []),
    ],
)
def test_words_left_in_another_script(text: str, language: str, expected: list[str]) -> None:
    assert leftover_words(text, language) == expected


def test_lengths_that_cannot_be() -> None:
    assert is_length_off(5, 40)
    assert is_length_off(40, 6)
    assert not any(is_length_off(source, target) for source, target in [(5, 8), (1, 6), (6, 1), (40, 25), (40, 80)])


def test_characters_the_model_has_never_seen() -> None:
    assert is_foreign("Где вокзал?", 9)
    assert not is_foreign("Where is the station? 😀", 1)
    assert not is_foreign("", 0)


def test_a_megabyte_costs_no_time_to_speak_of() -> None:
    """Without a bound some of the rules would take hours here."""
    long = replace(GOOD, source="^" * 1_000_000, text="a" * 500_000 + "@" * 500_000)
    assert "looping" in codes(long)
