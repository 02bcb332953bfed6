"""The public corpora Heedful can fetch: what they are, under which licence, where their authors publish them.

What can be pinned is pinned. Multi30k and enwik8 are known by the sha256 of their text, the IMDB archive by the md5
that is widely published for it. The Tatoeba pairs of manythings.org grow every few weeks, so no checksum could hold:
what was fetched is written down with the data instead.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from heedful.corpora.archives import ContentPin, FilePin, Pin
from heedful.corpora.general import general_files, lay_out_general
from heedful.corpora.layouts import lay_out_enwik8, lay_out_imdb, lay_out_multi30k, lay_out_tatoeba
from heedful.corpora.multi30k import RAW, TOKENIZED, raw_file, tokenized_file
from heedful.errors import UserError, nearest

_TATOEBA_LANGUAGES = ("deu", "fra", "cmn")
_COMPRESSION_OVERHEAD = 100_000


@dataclass(frozen=True)
class Download:
    """A file at its publisher; `pin` is None where the publisher changes it now and then."""

    url: str
    max_bytes: int
    pin: Pin | None
    saved_as: str = ""
    """Another name for it here, where those of a corpus are not all different."""

    @property
    def name(self) -> str:
        """The file's name here, which is unique within its corpus."""
        return self.saved_as or self.url.rsplit("/", 1)[-1]

    def address(self, mirror: str | None) -> str:
        """Return where to fetch it: at the publisher, or below a mirror that keeps files by host and path."""
        if mirror is None:
            return self.url
        parts = urlsplit(self.url)
        return f"{mirror.rstrip('/')}/{parts.netloc}{parts.path}"


@dataclass(frozen=True)
class PublicCorpus:
    """A corpus of others: `lay_out(downloads, folder)` makes the files that configs read."""

    name: str
    description: str
    num_bytes: int  # to be fetched, about
    source: str
    licence: str
    downloads: tuple[Download, ...]
    lay_out: Callable[[Path, Path], None]


def find_corpus(name: str) -> PublicCorpus:
    """Return the corpus of that name."""
    names = [corpus.name for corpus in PUBLIC_CORPORA]
    for corpus in PUBLIC_CORPORA:
        if corpus.name == name:
            return corpus
    guess = nearest(name, names)
    hint = f" Did you mean {guess}?" if guess else ""
    raise UserError(f"The corpus must be one of {', '.join(names)}, but is {name}.{hint}")


def _pinned(file: tuple[str, ContentPin]) -> Download:
    url, pin = file
    return Download(url, pin.num_bytes + _COMPRESSION_OVERHEAD, pin)


PUBLIC_CORPORA = (
    PublicCorpus(
        name="multi30k",
        description="image captions in English, German, French and Czech, raw and tokenised; 29,000 for training",
        num_bytes=11_500_000,
        source="https://github.com/multi30k/dataset",
        licence=(
            "for research: the captions are translations of Flickr30k's, whose terms of use hold. "
            "Cite Elliott et al. (2016), Multi30K: Multilingual English-German Image Descriptions."
        ),
        downloads=(*(_pinned(raw_file(name)) for name in RAW), *(_pinned(tokenized_file(name)) for name in TOKENIZED)),
        lay_out=lay_out_multi30k,
    ),
    PublicCorpus(
        name="tatoeba",
        description="everyday sentences, English with German, French and Chinese; split by a hash of the English",
        num_bytes=20_000_000,
        source="https://www.manythings.org/anki/",
        licence="CC BY 2.0 FR: name tatoeba.org, whose members wrote the sentences, and manythings.org, the publisher.",
        downloads=tuple(
            Download(f"https://www.manythings.org/anki/{language}-eng.zip", 200_000_000, None)
            for language in _TATOEBA_LANGUAGES
        ),
        lay_out=partial(lay_out_tatoeba, languages=_TATOEBA_LANGUAGES),
    ),
    PublicCorpus(
        name="imdb",
        description="film reviews with their stars, 25,000 for training and 25,000 for testing",
        num_bytes=84_125_825,
        source="https://ai.stanford.edu/~amaas/data/sentiment/",
        licence=(
            "no licence is given: for research. Cite Maas et al. (2011), Learning Word Vectors for Sentiment Analysis."
        ),
        downloads=(
            Download(
                "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
                90_000_000,
                FilePin("md5", "7c2ac02c03563afcf9b574c7e56c153a"),
            ),
        ),
        lay_out=partial(lay_out_imdb, reviews_per_label=12_500),
    ),
    PublicCorpus(
        name="enwik8",
        description="the first 100,000,000 bytes of the English Wikipedia of 2006, for byte-level language models",
        num_bytes=36_445_475,
        source="http://mattmahoney.net/dc/textdata.html",
        licence="CC BY-SA and GFDL, as Wikipedia has it: name Wikipedia and its authors.",
        downloads=(
            Download(
                "http://mattmahoney.net/dc/enwik8.zip",
                60_000_000,
                ContentPin(100_000_000, "2b49720ec4d78c3c9fabaee6e4179a5e997302b3a70029f30f2d582218c024a8", "enwik8"),
            ),
        ),
        lay_out=lay_out_enwik8,
    ),
    PublicCorpus(
        name="general",
        description=(
            "general text, English with German, French and Chinese: parliament, documentation of open projects, "
            "and sets to validate and test on"
        ),
        num_bytes=700_000_000,
        source="https://www.statmt.org/europarl/ and the repositories that provenance.json names",
        licence=(
            "each part has its own. europarl: reuse with the source named. python: CC0. django: BSD. godot: CC BY 3.0. "
            "gnome: CC BY-SA 3.0. xquad: CC BY-SA 4.0. tico19: CC0. news: WMT's test sets, for research, not to be "
            "redistributed and never to learn from."
        ),
        downloads=tuple(Download(file.url, file.max_bytes, file.pin, file.name) for file in general_files()),
        lay_out=lay_out_general,
    ),
)
