"""The text that the two smaller bundled models learn from, made of two public corpora; the same bytes every time.

    heedful data imdb && heedful data enwik8
    python benchmarks/bundled_texts.py

`data/imdb/sentiment_{train,validation}.jsonl.gz`: the labelled training reviews, a tenth of them kept for validation,
and beside those to learn from excerpts of one to three sentences, so that a single sentence is nothing new. An excerpt
has the label of its review, and is taken only if its words speak for that label (naive Bayes over words and pairs of
words, counted in the reviews to learn from). The test reviews are not touched.

`data/enwik8/prose_{train,validation,test}.txt`: paragraphs of the English Wikipedia as plain sentences, without markup,
lists, tables and headings, of articles in the first 90, the next 5 and the last 5 million bytes. Only paragraphs of
common words are kept: prose that a small model can learn to write.
"""

import argparse
import collections
import gzip
import hashlib
import html
import itertools
import json
import lzma
import math
import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from heedful.data.paths import resolve_data_path

WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")
SENTENCE_END = re.compile(r"(?<=[.!?])[\"')]*\s+(?=[\"'(]?[A-Z0-9])")
ABBREVIATION = re.compile(
    r"(?:\b[A-Z]|\b(?:Mr|Mrs|Ms|Dr|St|Jr|Sr|Prof|Gen|Col|Lt|Capt|Rev|vs|etc|ca|cf|No|Vol|ed|approx|Inc|Ltd|Co|Mt|Ft))\.$"
)


def sentences(paragraph: str) -> list[str]:
    """Cut a paragraph at the ends of its sentences; what ends with an abbreviation goes on."""
    found: list[str] = []
    for part in SENTENCE_END.split(paragraph):
        if found and ABBREVIATION.search(found[-1]):
            found[-1] += " " + part
        else:
            found.append(part)
    return [sentence.strip() for sentence in found if sentence.strip()]


# ---- film reviews

Review = dict[str, str]


def is_held_out(text: str) -> bool:
    """Hold a tenth of the reviews out, by a hash of the text: equal reviews stay together."""
    return hashlib.sha256(text.encode()).digest()[0] < 26


def word_features(text: str) -> set[str]:
    """Return the words of a text and its pairs of neighbouring words."""
    words = WORD.findall(text.lower())
    return {*words, *(f"{first} {second}" for first, second in itertools.pairwise(words))}


def log_ratios(reviews: list[Review]) -> dict[str, float]:
    """Return how much each word or pair speaks for `pos` (above zero) or `neg`, of those that ten reviews hold."""
    counts = {"pos": collections.Counter[str](), "neg": collections.Counter[str]()}
    for review in reviews:
        counts[review["label"]].update(word_features(review["text"]))
    both = counts["pos"] + counts["neg"]
    return {
        feature: math.log((counts["pos"][feature] + 1) / (counts["neg"][feature] + 1))
        for feature, count in both.items()
        if count >= 10
    }


def excerpts(review: Review, ratios: dict[str, float], draw: random.Random, count: int) -> Iterator[Review]:
    """Draw up to `count` excerpts of a review whose words speak for its label."""
    parts = sentences(re.sub(r"\s*<br />\s*", " ", review["text"]))
    sign = 1 if review["label"] == "pos" else -1
    for _ in range(count):
        length = draw.choice((1, 1, 1, 2, 3))
        start = draw.randrange(max(1, len(parts) - length + 1))
        excerpt = " ".join(parts[start : start + length])
        features = word_features(excerpt)
        evidence = sign * sum(ratios.get(feature, 0.0) for feature in features)
        if evidence > 1 and 3 <= len(excerpt.split()) <= 80:
            yield {"text": excerpt, "label": review["label"]}


def make_reviews(folder: Path) -> None:
    """Write the reviews and excerpts to learn from, and the reviews for validation."""
    with gzip.open(folder / "train.jsonl.gz", "rt", encoding="utf-8") as lines:
        all_reviews = [{key: value[key] for key in ("text", "label")} for value in map(json.loads, lines)]
    validation = [review for review in all_reviews if is_held_out(review["text"])]
    train = [review for review in all_reviews if not is_held_out(review["text"])]
    ratios, draw = log_ratios(train), random.Random(1)
    cut = [excerpt for review in train for excerpt in excerpts(review, ratios, draw, 4)]
    for name, reviews in (("train", train + cut), ("validation", validation)):
        write_gz(folder / f"sentiment_{name}.jsonl.gz", (json.dumps(it, ensure_ascii=False) for it in reviews))
    print(f"{len(train):,} reviews and {len(cut):,} excerpts to learn from, {len(validation):,} reviews held out")


def write_gz(path: Path, lines: Iterable[str]) -> None:
    """Write lines, packed, without a date in the file."""
    path.write_bytes(gzip.compress("".join(line + "\n" for line in lines).encode(), mtime=0))


# ---- Wikipedia

PAGE = re.compile(r'<text xml:space="preserve">(.*?)</text>', re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
ELEMENT = re.compile(
    r"<(math|ref|gallery|pre|code|nowiki|table|timeline|div|center)\b[^>]*?(/>|>.*?</\1>)", re.S | re.I
)
TAG = re.compile(r"</?[a-z][^>]*>", re.IGNORECASE)
TEMPLATE = re.compile(r"\{\{[^{}]*\}\}")
TABLE = re.compile(r"\{\|.*?\|\}", re.DOTALL)
LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)*([^\[\]|]*)\]\]")
NAMED_LINK = re.compile(r"\[\[\s*:?[A-Za-z-]+:[^\[\]]*\]\]")
ADDRESS = re.compile(r"\[?(?:https?|ftp)://\S+(?:\s[^\]]*\])?")
QUOTES = re.compile(r"'{2,}")
EMPTY_BRACKETS = re.compile(r"\s*\(\s*[,;:.\s]*\)")
BRACKETS = re.compile(r"\s*\([^()]*\)")
UNWANTED = re.compile(
    r"[^ -~£–—é]|[|{}\[\]<>=*#_/\\]|Wikipedia|ISBN|census|square mile|median (?:income|age)|household|poverty line|"
    r"\b(?:article|list|external link|see also|page)\b|\d{5}|\.\.\.|\d,? \d|\bpx\b",
    re.IGNORECASE,
)
KNOWN_SHARE = 0.9
"""Of the words of a paragraph that must be common ones."""


def plain_text(page: str) -> str:
    """Return an article without its markup, a paragraph a line."""
    text = html.unescape(html.unescape(page))
    text = ELEMENT.sub("", COMMENT.sub("", text))
    for _ in range(4):
        text = TEMPLATE.sub("", text)
    text = TABLE.sub("", text)
    for _ in range(2):
        text = LINK.sub(r"\1", NAMED_LINK.sub("", text))
    return TAG.sub("", QUOTES.sub("", ADDRESS.sub("", text)))


def is_good(sentence: str) -> bool:
    """Say whether a sentence is a whole one in plain words."""
    num_words = len(sentence.split())
    return (
        5 <= num_words <= 45
        and (sentence[0].isupper() or sentence[0] == '"')
        and sentence[-1] in '.!?"'
        and sentence.count('"') % 2 == 0
        and "(" not in sentence
        and ")" not in sentence
        and sum(character.isdigit() for character in sentence) <= 8
        and sum(word[0].isupper() for word in sentence.split()) <= 0.4 * num_words
        and not UNWANTED.search(sentence)
    )


def paragraphs(text: str) -> Iterator[str]:
    """Yield the stretches of at least two good sentences in a row, article by article."""
    for match in PAGE.finditer(text):
        if match[1][:9].upper() == "#REDIRECT":
            continue
        for line in plain_text(match[1]).split("\n"):
            if len(line) < 80 or line[0] in "|!=<{}[]&*#:; ":
                continue
            line = BRACKETS.sub("", EMPTY_BRACKETS.sub("", line)).replace("—", " - ").replace("&nbsp;", " ")
            stretch: list[str] = []
            for sentence in [*sentences(re.sub(r"\s+", " ", line)), ""]:
                if sentence and is_good(sentence):
                    stretch.append(sentence)
                    continue
                if len(stretch) >= 2:
                    yield " ".join(stretch)
                stretch = []


def make_prose(folder: Path) -> None:
    """Write the paragraphs of common words, those to learn from, for validation and for test."""
    data = lzma.decompress((folder / "enwik8.xz").read_bytes())
    cuts = {"train": (0, 90), "validation": (90, 95), "test": (95, 100)}
    parts = {
        name: list(paragraphs(data[start * 10**6 : end * 10**6].decode("utf-8", errors="ignore")))
        for name, (start, end) in cuts.items()
    }
    counts = collections.Counter(word for paragraph in parts["train"] for word in WORD.findall(paragraph.lower()))
    common = {word for word, _ in counts.most_common(8000)}
    for name, found in parts.items():
        kept = [one for one in dict.fromkeys(found) if is_common(one, common)]
        (folder / f"prose_{name}.txt").write_text("\n".join(kept) + "\n", encoding="utf-8")
        print(f"{name}: {len(kept):,} of {len(found):,} paragraphs, {sum(map(len, kept)):,} characters")


def is_common(paragraph: str, common: set[str]) -> bool:
    """Say whether nearly all words of a paragraph are common ones."""
    words = WORD.findall(paragraph.lower())
    return sum(word in common for word in words) >= KNOWN_SHARE * len(words)


def main() -> None:
    """Make what is asked for, by default both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", nargs="?", choices=("reviews", "prose"))
    which = parser.parse_args().which
    if which != "prose":
        make_reviews(resolve_data_path("data/imdb"))
    if which != "reviews":
        make_prose(resolve_data_path("data/enwik8"))


if __name__ == "__main__":
    main()
