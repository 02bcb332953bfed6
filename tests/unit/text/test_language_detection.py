"""Language detection: everyday sentences, hostile text, and learning a table anew."""

import time
from importlib import resources

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.errors import UserError
from heedful.text.language_detection import detect, known_languages, read_table, write_table
from heedful.text.language_learning import learn_ngram_table

SENTENCES = {
    "en": [
        "Where is the station?",
        "My brother bought a new bicycle yesterday.",
        "I don't think it will rain tomorrow.",
        "SHE HAS NEVER BEEN TO LONDON",
        "Attention is all you need.",
        "Thank you",
    ],
    "de": [
        "Wo ist der Bahnhof?",
        "Mein Bruder hat gestern ein neues Fahrrad gekauft.",
        "Ich glaube nicht, dass es morgen regnet.",
        "Können Sie mir bitte helfen?",
        "Guten Morgen",
        "Danke",
    ],
    "fr": [
        "Où est la gare ?",
        "Mon frère a acheté un vélo neuf hier.",
        "Je ne crois pas qu’il pleuve demain.",
        "L'eau est trop froide.",
        "Bonjour",
        "Merci",
    ],
    "zh": ["车站在哪里？", "我弟弟昨天買了一輛新的自行車。", "你好", "我喜欢 Python", "水"],
}


@pytest.mark.parametrize(("language", "text"), [(code, text) for code, texts in SENTENCES.items() for text in texts])
def test_everyday_sentences(language: str, text: str):
    best = detect(text)[0]
    assert best.language == language
    assert best.confidence > 0.8


@pytest.mark.parametrize("text", ["", "   ", "12,345", "?!…", "🙂", "Информация", "こんにちは世界", "안녕하세요"])
def test_a_text_that_says_nothing_is_every_languages_alike(text: str):
    assert [(found.language, found.confidence) for found in detect(text)] == [
        (language, 0.25) for language in known_languages()
    ]
    assert [found.language for found in detect(text, ["zh", "de"])] == ["zh", "de"]


@pytest.mark.parametrize("text", ["Table", "Restaurant", "Tom", "Hotel", "Paris"])
def test_a_word_of_several_languages_is_not_claimed_with_confidence(text: str):
    assert detect(text)[0].confidence < 0.9


def test_a_quotation_does_not_decide():
    assert detect("The word 你好 means hello in Chinese.")[0].language == "en"
    assert detect("他说 hello 的时候笑了。")[0].language == "zh"


def test_letters_are_recognised_in_any_form():
    plain = detect("Où est la gare d'été ?")
    assert detect("Ou\u0300 est la gare d’e\u0301te\u0301 ?") == plain
    assert detect("ＨＯＷ ＡＲＥ ＹＯＵ")[0].language == "en"


def test_only_the_languages_asked_about_come_into_question():
    found = detect("Where is the station?", ["fr", "de"])
    assert {detection.language for detection in found} == {"fr", "de"}
    assert sum(detection.confidence for detection in found) == pytest.approx(1)
    assert [(d.language, d.confidence) for d in detect("Where is the station?", ["zh"])] == [("zh", 1.0)]


def test_languages_that_nobody_taught_are_refused():
    with pytest.raises(UserError, match=r"^The languages to detect must be some of en, de, fr, zh, but are: de, eo\.$"):
        detect("x", ["de", "eo"])
    with pytest.raises(UserError, match=r"but are: none\.$"):
        detect("x", [])


@given(text=st.text(st.characters()) | st.text(st.sampled_from("aeé ß'’我の가\ud800\u0301İ5_")))
def test_any_text_gets_probabilities_that_sum_to_one(text: str):
    found = detect(text)
    assert {detection.language for detection in found} == set(known_languages())
    assert sum(detection.confidence for detection in found) == pytest.approx(1)
    assert [d.confidence for d in found] == sorted((d.confidence for d in found), reverse=True)


def test_a_megabyte_takes_no_longer_than_a_page():
    def seconds(sentences: int) -> float:
        start = time.process_time()
        assert detect("Wo ist der Bahnhof? " * sentences)[0].language == "de"
        return time.process_time() - start

    # The shortest of three: others on the machine can only add, and the very first has to load the table.
    page, megabyte = (min(seconds(sentences) for _ in range(3)) for sentences in (500, 50_000))
    assert megabyte < 5 * page + 0.05


def test_the_table_is_small_and_credited():
    folder = resources.files("heedful") / "assets" / "language_detection"
    text = (folder / "ngrams.tsv").read_text(encoding="utf-8")
    assert len(text.encode()) <= 300_000
    assert write_table(read_table(text)) == text
    credit = (folder / "README.md").read_text(encoding="utf-8")
    assert all(name in credit for name in ("tatoeba.org", "manythings.org", "CC BY 2.0 FR"))


def test_learning_finds_what_tells_two_languages_apart():
    """Two made-up languages that differ in their vowels alone."""
    generator = np.random.default_rng(1)

    def write(vowels: str) -> str:
        words = (
            "".join(generator.choice(list("ktpm")) + generator.choice(list(vowels)) for _ in range(3)) for _ in "abc"
        )
        return " ".join(words)

    texts = {"xa": [write("aio") for _ in range(200)], "xe": [write("eio") for _ in range(200)]}
    table = learn_ngram_table(texts, num_ngrams=50)
    assert len(table.weights) == 50
    assert table.weights["a"][0] > 0 > table.weights["a"][1]
    assert table.weights["e"][0] < 0 < table.weights["e"][1]
    assert write_table(learn_ngram_table(texts, num_ngrams=50)) == write_table(table)
