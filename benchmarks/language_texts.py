"""Texts in many languages to learn language detection from: what Debian's packages bring along, and our own corpora.

Translated programs, games, manuals and fortune cookies are text in dozens of languages that anybody can fetch from a
Debian mirror (Debian 12 has the packages named here; apt-get and dpkg-deb must be there). Each is read as sentences,
without markup and placeholders. Nothing is installed, and the machine's own package lists are not touched.
"""

import html
import random
import re
import struct
import subprocess
import tarfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from heedful.config.data import TsvCorpus
from heedful.data.readers import read_parallel
from heedful.text.scripts import UNDETERMINED

NUM_TEXTS = 30_000
NUM_OWN_TEXTS = 100_000

_CAMPAIGNS = (
    "did", "dm", "dw", "ei", "httt", "l", "low", "nr", "sof", "sota", "sotbe", "thot", "trow", "tsg", "ttb", "utbs",
)  # fmt: skip
FORTUNES = {"es": "fortunes-es", "it": "fortunes-it", "pl": "fortunes-pl", "cs": "fortunes-cs", "pt": "fortunes-br"}
KINDS = {
    "stories": ("wesnoth-1.16-data", *(f"wesnoth-1.16-{name}" for name in _CAMPAIGNS)),
    "fortunes": tuple(FORTUNES.values()),
    "manuals": ("gnome-user-docs", "installation-guide-amd64"),
    "games": ("freeciv-data", "tuxpaint-data"),
    "captions": ("evolution-common", "gimp-data", "gnucash-common", "gramps", "vlc-l10n", "git", "aptitude-common"),
}
"""Packages by kind of text. Every kind counts alike: in the captions of programs the everyday words are missing."""

NAMED = (
    "es", "it", "pt", "nl", "sv", "da", "nb", "pl", "cs", "fi", "hu", "ro", "tr", "ca", "id", "vi",
    "sk", "sl", "hr", "lt", "lv", "et", "eo",
)  # fmt: skip
"""Languages with Latin letters, beside English, German and French, that are told apart by name."""

UNNAMED = (
    "af", "ast", "br", "cy", "eu", "fur", "ga", "gd", "gl", "is", "ku", "la", "ms", "oc", "rw", "sq", "sw", "tl", "uz",
    "xh", "zu",
)  # fmt: skip
"""Languages with too little text to be named: together they show what other languages look like."""

_SPELLED = {"nb_NO": "nb", "nn": "nb", "pt_BR": "pt", "pt_PT": "pt", "brasil": "pt", "ca@valencia": "ca",
            "es_419": "es", "es_MX": "es", "sr@latin": "hr", "bs": "hr"}  # fmt: skip
_CATALOGUE = re.compile(r"/locale/([^/]+)/LC_MESSAGES/[^/]+\.mo$")
_HELP = re.compile(r"/usr/share/(?:help|doc/installation-guide-amd64)/([^/]+)/.*\.(?:page|html)$")
_COOKIES = re.compile(r"/games/fortunes/(?:(?!off/)[\w-]+/)*[\w-]+(?:\.fortunes|\.fortune)?$")
_PARAGRAPH = re.compile(r"<(?:p|item|title|desc|li|dd)\b[^>]*>(.*?)</(?:p|item|title|desc|li|dd)>", re.DOTALL)
_NOT_TEXT = re.compile(
    r"<[^<>]*>|https?://\S+|\S+@\S+|%\(?\w+\)?[sd]|%[-\w.$]+|\$\{?\w+\}?|\{[^{}]*\}|[-\w./]*/[-\w./]+|--?[\w-]+|\w+[.:_=]\w+"
)
_ENGLISH = re.compile(
    r"\b(?:the|and|with|this|from|that|you|your|which|should|would|when|there|been|they|these|cannot|into)\b",
    re.IGNORECASE,
)
"""Words of messages that nobody translated."""

_WORDS = re.compile(r"[^\W\d_]{2,}")
_SHARED_BY = 4
"""Languages that have a name before it counts as everybody's."""

_SENTENCE_END = re.compile(r"(?<=[.!?:;…])[\s\"»”]+|\n\n+")


def gather(folder: Path) -> dict[str, list[str]]:
    """Choose as many sentences of every language, and more of those a text is most often in; the same every time."""
    return choose(debian_texts(folder), own_texts())


def choose(debian: Mapping[str, dict[str, list[str]]], own: Mapping[str, dict[str, list[str]]]) -> dict[str, list[str]]:
    """Mix the sentences of each language."""
    generator = random.Random(0)
    texts = {}
    for language, kinds in own.items():
        # Half are everyday sentences: they are what most texts are like.
        everyday = generator.sample(kinds["tatoeba"], NUM_OWN_TEXTS // 2)
        rest = {kind: some for kind, some in {**kinds, **debian[language]}.items() if kind != "tatoeba"}
        texts[language] = everyday + mix(rest, NUM_OWN_TEXTS // 2, generator)
    texts |= {language: mix(debian[language], NUM_TEXTS, generator) for language in NAMED}
    others = {language: [one for some in debian[language].values() for one in some] for language in UNNAMED}
    texts[UNDETERMINED] = mix(others, NUM_TEXTS, generator)
    return without_names(texts)


def without_names(texts: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Leave out the names that many languages have: "Tom" is no more English for standing in English examples."""
    capitalised: Counter[str] = Counter()
    small: Counter[str] = Counter()
    for text in texts["en"]:
        words = _WORDS.findall(text)
        capitalised.update(word for word in words[1:] if word[0].isupper())
        small.update(word for word in words if word[0].islower())
    names = {word for word, count in capitalised.items() if count > 3 * small[word.lower()]}
    spread = Counter(name for some in texts.values() for name in names.intersection(_WORDS.findall(" ".join(some))))
    shared = {name for name, count in spread.items() if count >= _SHARED_BY}
    return {
        language: [" ".join(word for word in text.split() if word.strip("\"'.,;:!?()") not in shared) for text in some]
        for language, some in texts.items()
    }


def debian_texts(folder: Path) -> dict[str, dict[str, list[str]]]:
    """Return sentences by language and kind; fetch the packages into a folder that keeps them."""
    languages = {*NAMED, *UNNAMED, "en", "de", "fr"}
    paths = _fetch(folder, [package for packages in KINDS.values() for package in packages])
    found: dict[str, dict[str, set[str]]] = {language: {} for language in sorted(languages)}
    for kind, packages in KINDS.items():
        for package in packages:
            for spelled, text in _texts_of(package, paths[package]):
                language = _SPELLED.get(spelled, spelled)
                if language in languages:
                    is_english = language == "en"
                    sentences = (one for one in _sentences(text) if is_english or not _ENGLISH.search(one))
                    found[language].setdefault(kind, set()).update(sentences)
    return {language: {kind: sorted(some) for kind, some in kinds.items()} for language, kinds in found.items()}


def own_texts() -> dict[str, dict[str, list[str]]]:
    """Return the training sentences of English, German and French: everyday, parliament, manuals."""
    found: dict[str, dict[str, list[str]]] = {"en": {}, "de": {}, "fr": {}}
    for language, tatoeba in (("de", "eng-deu"), ("fr", "eng-fra")):
        paths = {
            "tatoeba": [f"data/tatoeba/{tatoeba}.train.tsv.gz"],
            "europarl": [f"data/general/europarl.en-{language}.tsv.xz"],
            "documentation": [
                f"data/general/open/{name}.en-{language}.tsv.xz"
                for name in ("mozilla-www", "opensource-guide", "unciv", "godot-docs", "libreoffice-help")
            ],
        }
        for name, files in paths.items():
            for path in files:
                english, others = read_parallel(TsvCorpus(kind="tsv", path=path))
                found["en"].setdefault(name, []).extend(english)
                found[language].setdefault(name, []).extend(others)
    return {language: {name: sorted(set(some)) for name, some in kinds.items()} for language, kinds in found.items()}


def mix(kinds: dict[str, list[str]], size: int, generator: random.Random) -> list[str]:
    """Choose sentences, as evenly from all kinds as these have them: a small one gives all."""
    chosen: list[str] = []
    for number, some in enumerate(sorted(kinds.values(), key=len)):
        share = (size - len(chosen)) // (len(kinds) - number)
        chosen += generator.sample(some, min(share, len(some)))
    return chosen


def _fetch(folder: Path, packages: list[str]) -> dict[str, Path]:
    folder = folder.resolve()
    for name in ("lists/partial", "archives/partial", "packages"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    options = [f"-oDir::State::lists={folder}/lists", f"-oDir::Cache={folder}", "-oAcquire::Languages=none"]
    at = folder / "packages"
    if missing := [name for name in packages if not any(at.glob(f"{name}_*.deb"))]:
        subprocess.run(["apt-get", *options, "update"], check=True)
        subprocess.run(["apt-get", *options, "download", *missing], cwd=at, check=True)
    return {name: next(at.glob(f"{name}_*.deb")) for name in packages}


def _texts_of(package: str, path: Path) -> Iterator[tuple[str, str]]:
    """Yield the texts of a package, each with its language as the package spells it."""
    cookies = {name: language for language, name in FORTUNES.items()}.get(package)
    with (
        subprocess.Popen(["dpkg-deb", "--fsys-tarfile", path], stdout=subprocess.PIPE) as unpacking,
        tarfile.open(fileobj=unpacking.stdout, mode="r|") as archive,
    ):
        for member in archive:
            found = _CATALOGUE.search(member.name) or _HELP.search(member.name)
            if not member.isfile() or not (found or (cookies and _COOKIES.search(member.name))):
                continue
            file = archive.extractfile(member)
            content = file.read() if file else b""
            if found is None:
                yield from ((str(cookies), text) for text in _decoded(content).split("\n%\n"))
            elif member.name.endswith(".mo"):
                yield from _messages(found[1], content)
            else:
                language = {"C": "en"}.get(found[1], found[1])
                yield from ((language, html.unescape(text)) for text in _PARAGRAPH.findall(_decoded(content)))


def _messages(language: str, content: bytes) -> Iterator[tuple[str, str]]:
    """Yield a catalogue's messages, and from the German one their English originals too.

    The format is GNU gettext's .mo; read here, for Python's own reader refuses catalogues with a faulty plural rule.
    """
    number, originals_at, messages_at = struct.unpack_from("<3I", content, 8)
    originals = struct.unpack_from(f"<{2 * number}I", content, originals_at)
    messages = struct.unpack_from(f"<{2 * number}I", content, messages_at)
    for place in range(0, 2 * number, 2):
        original, message = (
            _decoded(content[start : start + length]).split("\0")[0]
            for length, start in (originals[place : place + 2], messages[place : place + 2])
        )
        if original and message != original:
            yield language, message
            if language == "de":
                yield "en", original.rpartition("\x04")[2].rpartition("^")[2]


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text that have three words or more."""
    plain = _NOT_TEXT.sub(" ", text.replace("_", "").replace("&", ""))
    for sentence in _SENTENCE_END.split(plain):
        if len(sentence.split()) >= 3:
            yield " ".join(sentence.split())
