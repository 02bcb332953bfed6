"""Near duplicates are found whatever their case and punctuation; different texts are not near."""

import random

from heedful.data.near_duplicates import NearDuplicates, normalised
from tests.support.spoilt_corpora import sentences

LONG = "The committee has decided to publish the report on fisheries in all official languages before the summer."


def test_letters_and_digits_are_what_counts() -> None:
    assert normalised("Hello, World! 12") == normalised("hello world １２")


def test_the_same_text_is_found_by_its_letters() -> None:
    index = NearDuplicates()
    index.note("Tom, come here!", 7)
    assert index.find("tom come here") == 7
    assert index.find("Tom, go there!") is None
    assert index.find("") is None


def test_a_long_text_with_a_word_changed_is_near_and_another_is_not() -> None:
    index = NearDuplicates()
    for number, (english, _, _) in enumerate(sentences(200)):
        index.note(english * 3, number)
    index.note(LONG, 200)
    assert index.find(LONG.replace("summer", "winter")) == 200
    assert index.find("A completely different sentence about something that nobody else has mentioned so far.") is None


def test_long_documents_are_compared_by_their_sketches() -> None:
    index, words = NearDuplicates(), [" ".join(english for english, _, _ in sentences(60, seed)) for seed in range(5)]
    for number, text in enumerate(words):
        index.note(text, number)
    assert index.find(words[3][:-40] + "and so on") == 3
    assert index.find(" ".join(german for _, german, _ in sentences(60, 3))) is None


def test_many_at_once_are_found_as_one_by_one() -> None:
    index, draw = NearDuplicates(), random.Random(2)
    noted = [english * 2 for english, _, _ in sentences(150)]
    for number, text in enumerate(noted):
        index.note(text, number)
    texts = ["", "x", "short", *(german for _, german, _ in sentences(100))]
    for text in noted:
        place = draw.randrange(len(text))
        texts += [text, text.upper(), text[:place] + draw.choice(["", "q", "an inserted passage "]) + text[place + 1 :]]
    expected = [index.find(text) for text in texts]
    assert index.find_many(texts) == expected
    assert 300 < sum(number is not None for number in expected) < len(texts)
    assert index.find_many([]) == []
