"""Everything that reads a user's text takes a time that grows with the text and no faster, whatever the text is."""

import time
from collections.abc import Callable

import pytest

from heedful import load
from heedful.tasks.translation.doubts import Output, find_warnings
from heedful.tasks.translation.plan import join_parts
from heedful.tasks.translation.request import TranslationRequest
from heedful.tasks.translation.translator import Translator
from heedful.text.chinese import simplify
from heedful.text.language_detection import detect
from heedful.text.lines import one_line
from heedful.text.normalization import normalize_aligned
from heedful.text.sentences import split_sentences

HOSTILE = [
    ".", "!?", '."', ". ", "1. ", "J. ", "a", "ha ", "A", "é", "e\u0301", "\u0301", " ", "\t", "\u00a0", "\u2028", "-",
    "'", "a'", "http://", "a@", "a.b-", "9", "我", "。", "我!", "臺", "🙂", "\U0001f468\u200d", "\u200b", "ﷺ", "<b>",
    "\x00",
]  # fmt: skip
"""What texts are made of that have broken regular expressions, tokenizers and normalisations before."""


@pytest.fixture(scope="module")
def translator() -> Translator:
    return load(device="cpu")


def readers(translator: Translator) -> dict[str, Callable[[str], object]]:
    tokenizer = translator.tokenizer

    def warn(text: str) -> object:
        return list(find_warnings(Output(text, text[::-1], "de", [-1.0] * len(text), "eos", len(text))))

    return {
        "split_sentences": split_sentences,
        "plan": lambda text: translator.planner.plan([text], TranslationRequest("en", "de")),
        "encode": lambda text: tokenizer.encode_source(text, "de"),
        "normalize_aligned": lambda text: normalize_aligned(text, tokenizer.normalization),
        "detect": detect,
        "simplify": simplify,
        "one_line": one_line,
        "find_warnings": warn,
        "join_parts": lambda text: join_parts(list(text)),
    }


def seconds(read: Callable[[str], object], text: str) -> float:
    started = time.process_time()
    read(text)
    return time.process_time() - started


@pytest.mark.parametrize(
    "name",
    ["split_sentences", "plan", "encode", "normalize_aligned", "detect", "simplify", "one_line", "find_warnings",
     "join_parts"],
)  # fmt: skip
def test_the_time_to_read_a_text_grows_with_its_length_and_no_faster(translator: Translator, name: str) -> None:
    read = readers(translator)[name]
    read("warm")
    slow: dict[str, float] = {}
    for unit in HOSTILE:
        short, long = ((unit * length)[:length] for length in (2_500, 20_000))
        floor = max(min(seconds(read, short) for _ in range(2)), 0.002)  # below it, the clock is all one measures
        ratio = seconds(read, long) / floor
        if ratio > 20:  # a busy machine has hiccups: what is slow once is asked twice more; quadratic would be 64
            ratio = min(ratio, *(seconds(read, long) / floor for _ in range(2)))
        if ratio > 20:
            slow[unit] = ratio
    assert not slow
