"""Looking at pairs with a real small model and a calibration; and finding one."""

from dataclasses import replace

import pytest

from heedful.errors import UserError
from heedful.tasks.translation.calibrating import Asked, calibrate_direction, is_good, judge_words
from heedful.tasks.translation.calibration import Calibration, DirectionCalibration
from heedful.tasks.translation.coverage import NUM_COMPARED, NUM_FORCED, NUM_SHAPE, Detector
from heedful.tasks.translation.reliability_card import calibration_errors, reliability_table, with_reliability
from heedful.tasks.translation.request import TranslationRequest
from heedful.tasks.translation.review import aligned_parts
from heedful.tasks.translation.translated import Alternative, TranslatedUnit, Translation
from heedful.tasks.translation.translator import Translator
from heedful.tasks.translation.word_confidence import WordConfidence, word_confidences
from tests.support.small_models import small_translator

ALWAYS, NEVER = Detector((1.0, *[0.0] * NUM_FORCED)), Detector((-1.0, *[0.0] * NUM_FORCED))
BY_LENGTH = Detector((-0.5, -1.0, *[0.0] * (NUM_SHAPE - 1)))  # flags what has less than e^-0.5 of the tokens


def translator_with(*, low_confidence: float = -1e3, **directions: DirectionCalibration) -> Translator:
    translator = small_translator(languages=("de", "en"))
    calibration = Calibration({name.replace("_", "-"): found for name, found in directions.items()})
    return replace(
        translator, traits=replace(translator.traits, calibration=calibration, low_confidence=low_confidence)
    )


def codes(translator: Translator, source: str, target: str) -> list[str]:
    return [warning.code for warning in translator.review([source], [target], from_="en", to="de")[0]]


def test_shape_finds_what_is_missing_and_the_other_way_round_what_was_added() -> None:
    translator = translator_with(en_de=DirectionCalibration(omission=BY_LENGTH, addition=BY_LENGTH))
    long, short = "where is the station where is the station", "der bahnhof"
    assert codes(translator, long, short) == ["omission"]
    assert codes(translator, short, long) == ["addition"]
    assert codes(translator, "where is the station", "wo ist der bahnhof") == []
    assert codes(translator_with(), long, short) == []


def test_words_and_numbers_are_looked_at_without_any_calibration() -> None:
    assert codes(translator_with(), "I did not meet Müller in 1984.", "Ich traf sie gestern.") == [
        "negation", "names", "numbers",
    ]  # fmt: skip


def test_the_model_is_asked_only_about_what_it_is_sure_of() -> None:
    asked = DirectionCalibration(omission_forced=ALWAYS, addition_forced=NEVER)
    pair = "where is the station", "wo ist der bahnhof"
    assert codes(translator_with(en_de=asked), *pair) == ["omission"]
    assert codes(translator_with(en_de=asked, low_confidence=0.0), *pair) == []
    too_long = "where is the station " * 100, "wo ist der bahnhof"
    assert "omission" not in codes(translator_with(en_de=asked), *too_long)


def test_a_translation_is_held_against_the_models_own_also_where_it_is_unsure() -> None:
    own_confidence = Detector((0.0, *[0.0] * 20, -1.0, *[0.0] * (NUM_COMPARED - 21)))  # above 0 where it has a surprise
    compared = DirectionCalibration(omission_forced=NEVER, addition_forced=ALWAYS, omission_compared=own_confidence)
    pair = "where is the station", "wo ist der bahnhof"
    assert codes(translator_with(en_de=compared), *pair) == ["omission", "addition"]
    assert codes(translator_with(en_de=compared, low_confidence=0.0), *pair) == ["omission"]
    never = replace(compared, omission_forced=ALWAYS, omission_compared=Detector((-1.0, *[0.0] * NUM_COMPARED)))
    assert codes(translator_with(en_de=never), *pair) == ["addition"]


def test_a_direction_has_its_own_threshold_of_low_confidence() -> None:
    def flags(threshold: float) -> list[str]:
        translator = translator_with(en_de=DirectionCalibration(low_confidence=threshold))
        (made,) = translator.translate_detailed(["where is the station"], from_="en", to="de")
        return [warning.code for warning in made.warnings]

    assert "low_confidence" in flags(-1e-9)
    assert "low_confidence" not in flags(-1e3)


def test_check_asks_about_what_was_just_translated() -> None:
    translator = translator_with(en_de=DirectionCalibration(omission_forced=ALWAYS))
    asked = TranslationRequest("en", "de", check=True)
    (checked,) = translator.translate_detailed(["where is the station"], request=asked)
    (plain,) = translator.translate_detailed(["where is the station"], request=replace(asked, check=False))
    assert checked.text == plain.text
    assert {warning.code for warning in checked.warnings} == {warning.code for warning in plain.warnings} | {"omission"}
    assert [one.warnings for one in translator.translate_detailed(["", "7"], request=asked)] == [(), ()]


def test_a_model_without_a_way_back_is_not_asked() -> None:
    translator = small_translator()
    traits = replace(
        translator.traits, calibration=Calibration({"en-de": DirectionCalibration(omission_forced=ALWAYS)})
    )
    assert replace(translator, traits=traits).review(["where is the station"], ["wo ist der bahnhof"]) == [()]


def test_sides_must_be_as_many() -> None:
    with pytest.raises(UserError, match="a translation for each source, but there are 2 and 1"):
        translator_with().review(["a", "b"], ["c"])


def test_pairs_are_cut_as_far_as_both_sides_agree() -> None:
    assert aligned_parts("A.\nB. C.", "D.\nE. F.") == [("A.", "D."), ("B. C.", "E. F.")]
    assert aligned_parts("A.\nB.", "D.") == [("A.\nB.", "D.")]
    six = "One is here. Two is here. Three is here. Four is here. Five is here. Six is here."
    assert len(aligned_parts(six, six)) == 6
    assert aligned_parts(six, "Eins. Zwei.") == [(six, "Eins. Zwei.")]


def test_words_have_the_product_of_their_pieces() -> None:
    tokens = ["▁gar", "age", ",", "▁yes", "</s>"]
    words = list(word_confidences(tokens, [-0.5, -0.25, -0.1, -1.0, -0.2], lambda p: p / 2))  # type: ignore[arg-type]
    assert [word.text for word in words] == ["garage", ",", "yes"]
    assert words[0].probability == pytest.approx(2.718281828**-0.75)
    assert words[0].confidence == pytest.approx(words[0].probability / 2)
    assert list(word_confidences([], [], None)) == []
    assert next(word_confidences(["▁a"], [float("nan")], None)).probability == 0.0


def test_a_word_is_right_as_often_as_a_reference_has_it() -> None:
    words = [WordConfidence(text, 0.5, None) for text in ("The", "cat", "saw", "the", "the", "dog", ".")]
    judged = judge_words(words, ["A bird.", "the dog saw THE mouse"])
    assert [is_right for _, is_right in judged] == [True, False, True, True, False, True]
    chinese = [WordConfidence(text, 0.5, None) for text in ("车站", "在", "哪")]
    assert [is_right for _, is_right in judge_words(chinese, ["车站在那里"])] == [True, True, False]


def test_good_is_what_is_like_its_reference() -> None:
    assert is_good("Where is the station?", "Where is the train station?")
    assert not is_good("Where is the station?", "I lost my keys.")


def test_a_calibration_found_on_pairs_flags_few_of_them_and_most_with_something_left_out() -> None:
    nouns = ["house", "garden", "station", "school", "river", "bridge", "market", "church"]
    verbs = ["sees", "finds", "likes", "leaves", "paints", "sells"]
    pairs = [
        (f"The {one} {verb} a {other}, and we stay here.", f"das {one} {verb} ein {other}, und wir bleiben hier.")
        for one in nouns
        for verb in verbs
        for other in nouns
        if one != other
    ]
    translator = small_translator(languages=("de", "en"))
    made = [
        Translation(source, (one,), units=(TranslatedUnit(source, (one,)),))
        for number, (source, target) in enumerate(pairs)
        for pieces in [tuple("▁" + word for word in target.split())]
        for one in [Alternative(target, 0.0, 0.0, "eos", pieces, tuple([-0.1 * (number % 7)] * len(pieces)))]
    ]
    of_sources = dict(pairs)
    asked = Asked(translator.scorer, ("en", "de"), lambda texts: [of_sources.get(text, text) for text in texts])
    found = calibrate_direction(asked, pairs, made)
    assert None not in (found.omission, found.addition, found.omission_forced, found.addition_forced, found.words)
    assert found.omission_compared is not None
    assert found.letters_per_piece is not None
    assert found.low_confidence == pytest.approx(-0.6)  # what a seventh of the translations have
    calibrated = replace(translator, traits=replace(translator.traits, calibration=Calibration({"en-de": found})))
    sides = calibrated.scorer.counted(pairs)
    assert sum(any(found.missing_by_shape(*pair)) for pair in sides) <= 0.03 * len(pairs)
    lacking = calibrated.scorer.counted([(source, target.split(",")[0] + ".") for source, target in pairs])
    assert sum(found.missing_by_shape(*pair)[0] for pair in lacking) >= 0.95 * len(pairs)
    added = calibrated.scorer.counted([(source.split(",")[0] + ".", target) for source, target in pairs])
    assert sum(found.missing_by_shape(*pair)[1] for pair in added) >= 0.95 * len(pairs)
    before, after = calibration_errors(found.reliability)
    assert after < 0.01 < before  # every word is right, whatever its probability
    calibration = Calibration({"en-de": found})
    assert reliability_table(calibration)[-1].startswith("en-de")
    card = with_reliability("# A model\n\nText.\n\n## More\n\nOther.\n", calibration)
    assert "| en-de |" in card
    assert with_reliability(card, calibration) == card
    assert with_reliability("# A model\n", Calibration()) == "# A model\n"


def test_too_few_pairs_give_no_calibration() -> None:
    asked = Asked(small_translator(languages=("de", "en")).scorer, ("en", "de"), list)
    found = calibrate_direction(asked, [], [])
    assert found == DirectionCalibration()
