"""Names that a translation lacks."""

import pytest

from heedful.text.names import lost_names


@pytest.mark.parametrize(
    ("source", "target", "languages", "lost"),
    [
        ("My name is Müller.", "Mein Name ist garantiert.", ("en", "de"), ["Müller"]),
        ("Guten Tag, Herr Müller.", "Hello, Mr. Smith.", ("de", "en"), ["Müller"]),
        ("J'ai vu Pierre à Toulouse.", "I saw Pierre yesterday.", ("fr", "en"), ["Toulouse"]),
        ("Yesterday Tom's friend saw d'Artagnan.", "Gestern sah ein Freund.", ("en", "de"), ["Tom", "Artagnan"]),
        ("We met Alice and Bob.", "Wir haben Bob getroffen.", ("en", "de"), ["Alice"]),
    ],
)
def test_a_lost_name_is_named(source: str, target: str, languages: tuple[str, str], lost: list[str]) -> None:
    assert lost_names(source, target, *languages) == lost


@pytest.mark.parametrize(
    ("source", "target", "languages"),
    [
        ("I saw Mary in London.", "J'ai vu Marie à Londres.", ("en", "fr")),
        ("He lives in California.", "Er wohnt in Kalifornien.", ("en", "de")),
        ("I think I'm late on Mondays.", "Ich glaube, ich bin montags zu spät.", ("en", "de")),
        ("She went to Germany with Philipp.", "Sie fuhr mit Filip nach Deutschland.", ("en", "de")),
        ("Der Hund schläft im Garten.", "The dog sleeps in the garden.", ("de", "en")),
        ("Wie heißt Ihre Katze?", "What's your cat's name?", ("de", "en")),
        ("Tom said: “Good morning.”", "Tom sagte: „Guten Morgen.“", ("en", "de")),
        ("My name is Müller.", "我的名字是穆勒。", ("en", "zh")),
        ("We saw Karl.", "Auf 5 ² sahen wir Karl.", ("en", "de")),
    ],
)
def test_names_that_stay_or_are_translated_are_left_alone(source: str, target: str, languages: tuple[str, str]) -> None:
    assert lost_names(source, target, *languages) == []
