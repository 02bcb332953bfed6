"""Negation: what was lost or added is found, what languages say without a negation is left alone."""

import pytest

from heedful.text.negation import knows_negation, negation_difference


@pytest.mark.parametrize(
    ("source", "target", "languages"),
    [
        ("Sie hielt ihr Versprechen nicht, mir zu schreiben.", "She kept her promise to write to me.", ("de", "en")),
        ("J'aimerais autant ne pas y aller.", "I'd like to go so much.", ("fr", "en")),
        ("I have never been there.", "Ich bin dort gewesen.", ("en", "de")),
        ("Nobody came.", "Tout le monde est venu.", ("en", "fr")),
        ("He doesn't know.", "他知道。", ("en", "zh")),
        ("我没有时间。", "I have time.", ("zh", "en")),
        ("Kein Mensch weiß es.", "People know it.", ("de", "en")),
        ("Personne ne sait.", "They know.", ("fr", "en")),
    ],
)
def test_a_lost_negation_is_found_and_seen_from_the_other_side_is_an_added_one(
    source: str, target: str, languages: tuple[str, str]
) -> None:
    assert negation_difference(source, target, *languages) == "lost"
    assert negation_difference(target, source, *reversed(languages)) == "added"


@pytest.mark.parametrize(
    ("source", "target", "languages"),
    [
        ("I don't know how to do it.", "J'ignore comment le faire.", ("en", "fr")),
        ("The cause of the fire is not known.", "Die Ursache für den Brand ist unbekannt.", ("en", "de")),
        ("That's fantastic, isn't it?", "Phantastisch, oder?", ("en", "de")),
        ("You are Tom, aren't you?", "你是汤姆，对吗？", ("en", "zh")),
        ("Do you like it?", "你喜不喜欢？", ("en", "zh")),
        ("I'm sorry.", "对不起。", ("en", "zh")),
        ("Parcel no. 4711 has arrived.", "Das Paket Nr. 4711 ist da.", ("en", "de")),
        ("Anybody can do it.", "N'importe qui peut le faire.", ("en", "fr")),
        ("We're just children.", "Nous ne sommes que des enfants.", ("en", "fr")),
        ("No sooner had I left than it rained.", "Kaum war ich weg, regnete es.", ("en", "de")),
        ("The bank doesn't open for another hour.", "Die Bank öffnet erst in einer Stunde.", ("en", "de")),
        ("Didn't you see the musical?", "Hast du das Musical gesehen?", ("en", "de")),
        ("A very beautiful day.", "非常美丽的一天。", ("en", "zh")),
        ("He is unhappy.", "他不快乐。", ("en", "zh")),
        ("Not only Tom came.", "Nicht nur Tom kam.", ("en", "de")),
        ("Amendment No 7 is adopted.", "Änderungsantrag 7 wird angenommen.", ("en", "de")),
        ("When was the radio demonstration?", "无线电演示是在什么时候？", ("en", "zh")),
        ("Income inequality harms growth.", "收入不平等损害增长。", ("en", "zh")),
        ("Plague struck North Africa.", "瘟疫袭击北非。", ("en", "zh")),
        ("Non-essential parts are changed.", "Nicht-essentielle Teile werden geändert.", ("en", "de")),
        ("", "", ("en", "de")),
    ],
)
def test_what_is_well_said_otherwise_is_left_alone(source: str, target: str, languages: tuple[str, str]) -> None:
    assert negation_difference(source, target, *languages) is None
    assert negation_difference(target, source, *reversed(languages)) is None


def test_in_a_long_sentence_a_negation_may_say_the_same() -> None:
    source = "Desktop systems fall behind the alternatives of other makers when it comes to certain features."
    target = (
        "Desktop-Systeme sind nicht auf der Höhe der Alternativen anderer Hersteller, was gewisse Merkmale betrifft."
    )
    assert negation_difference(source, target, "en", "de") is None
    assert negation_difference(target, source, "de", "en") == "lost"
    assert negation_difference("They are here.", "Sie sind nicht hier.", "en", "de") == "added"


def test_languages_are_known_by_their_first_part() -> None:
    assert knows_negation("en", "zh-TW", "fr-CA")
    assert not knows_negation("en", "cs")
    assert not knows_negation(None)


def test_a_page_of_text_is_not_looked_at() -> None:
    assert negation_difference("I do not know. " * 200, "Ich weiß es. " * 200, "en", "de") is None
