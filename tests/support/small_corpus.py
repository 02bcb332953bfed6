"""Lines of two languages, enough to learn a tokenizer of, and the shape of a function that writes a corpus."""

from collections.abc import Callable

from heedful.config.data import LineCorpus

ENGLISH = [f"the {colour} {animal} sees {number} stars" for colour in ("red", "green", "old")
           for animal in ("dog", "cat", "whale") for number in ("two", "three", "twenty-five")]  # fmt: skip
GERMAN = [line.replace("the", "der").replace("sees", "sieht") + " am Himmel" for line in ENGLISH]


WriteCorpus = Callable[..., LineCorpus]
