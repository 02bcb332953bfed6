"""Near duplicates are found whatever their case and punctuation; different texts are not near."""

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
