"""General text: what is public of the text the bundled translator learned from, and sets to judge by.

Europarl (formal), documentation of open projects (technical), XQuAD and TICO-19 to validate on, and the news sets of
WMT to test on, never to learn from. Repositories are fetched at a fixed commit, the WMT sets are known by the md5 that
sacreBLEU has for them. No checksum is known to us for the rest: what was fetched is written down with the data.
"""

import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from heedful.corpora.archives import FilePin, read_content, read_tar_members
from heedful.corpora.po_pairs import pairs_of_po
from heedful.corpora.writing import write_gzip
from heedful.errors import HeedfulError

Pairs = Iterable[tuple[str, str]]

_MAX_BYTES = 4_000_000_000
_RAW = "https://raw.githubusercontent.com"


@dataclass(frozen=True)
class GeneralFile:
    """A file at its publisher, and the name under which it waits to be laid out."""

    name: str
    url: str
    max_bytes: int
    pin: FilePin | None = None


@dataclass(frozen=True)
class _Catalogues:
    """PO files of a project: a file for each language, or the members of one archive that begin so."""

    project: str
    url: str
    """With {language} where there is a file for each; an archive otherwise."""

    paths: dict[str, str]
    """For each of our languages, what the address or the path in the archive has in its place."""


_CATALOGUES = (
    _Catalogues(
        "gnome",
        f"{_RAW}/GNOME/gnome-user-docs/{{language}}.po",
        {
            "de": "e7c0f5e37e122bfeaa235768c47e6f6f7a62d628/gnome-help/de/de",
            "fr": "c53e11b7f869bc53d4f5c5ebfc3298aa8ad78e9d/gnome-help/fr/fr",
            "zh": "294cdd32a4f67def9f787637177b80a4b2b9bd3e/gnome-help/zh_CN/zh_CN",
        },
    ),
    _Catalogues(
        "godot",
        f"{_RAW}/godotengine/godot-docs-l10n/{{language}}.po",
        {
            "de": "ea8b07dac19390fd0ca2cd1540a9515ae5bb41d6/weblate/de",
            "fr": "f05ebc9f42db7332b5f46f440f0d6005853ccdb2/weblate/fr",
            "zh": "ca2996ab9d034c0a611acf29758b7a3facbc5843/weblate/zh_CN",
        },
    ),
    _Catalogues(
        "python",
        "https://github.com/python/python-docs-fr/archive/5885f3bcae9bdc38b4b03916f6465dc74134f4f2.tar.gz",
        {"fr": ""},
    ),
    _Catalogues(
        "python",
        "https://github.com/python/python-docs-zh-cn/archive/a8e8daf76e449fe4dd3469ec53ffcb8b1f269201.tar.gz",
        {"zh": ""},
    ),
    _Catalogues(
        "django",
        "https://github.com/django/django-docs-translations/archive/7142393ff82303ee7a4365cdfd5e5eb10f83d632.tar.gz",
        {"fr": "translations/fr/", "zh": "translations/zh_Hans/"},
    ),
)

_EUROPARL = {
    language: f"https://www.statmt.org/europarl/v10/training/europarl-v10.{language}-en.tsv.gz"
    for language in ("de", "fr")
}
_TICO = "https://tico-19.github.io/data/tico19-testset.zip"
_XQUAD = f"{_RAW}/google-deepmind/xquad/cedcc55082232da0e20da7d12d1149798165a295/xquad.{{language}}.json"


@dataclass(frozen=True)
class _NewsSet:
    """A test set of WMT: its archive, and where each direction lies in it."""

    name: str
    url: str
    md5: str
    member: str
    directions: tuple[str, ...]
    translator: str


_ALL_WAYS = ("en-de", "de-en", "en-zh", "zh-en")
_GITHUB_WMT = "https://github.com/wmt-conference"
_NEWS = (
    _NewsSet(
        "newstest2021",
        "https://data.statmt.org/wmt21/translation-task/test.tgz",
        "32e7ab995bc318414375d60f0269af92",
        "test/newstest2021.{direction}.xml",
        _ALL_WAYS,
        "A",
    ),
    _NewsSet(
        "generaltest2022",
        f"{_GITHUB_WMT}/wmt22-news-systems/archive/refs/tags/v1.1.tar.gz",
        "0840978b9b50b9ac3b2b081e37d620b9",
        "wmt22-news-systems-1.1/xml/wmttest2022.{direction}.all.xml",
        _ALL_WAYS,
        "A",
    ),
    _NewsSet(
        "generaltest2023",
        f"{_GITHUB_WMT}/wmt23-news-systems/archive/refs/tags/v.0.1.tar.gz",
        "63576405e4ce07130a19ad76ba7eb75b",
        "wmt23-news-systems-v.0.1/xml/wmttest2023.{direction}.all.xml",
        _ALL_WAYS,
        "refA",
    ),
    _NewsSet(
        "generaltest2024",
        f"{_GITHUB_WMT}/wmt24-news-systems/releases/download/v1.1/data_onlyxml.tar.gz",
        "299963fcb7b4e86d6d212bf69beb9580",
        "xml/wmttest2024.{direction}.all.xml",
        ("en-de", "en-zh"),
        "refA",
    ),
)


def general_files() -> Iterator[GeneralFile]:
    """Yield everything that is fetched."""
    for language, url in _EUROPARL.items():
        yield GeneralFile(f"europarl.{language}.tsv.gz", url, 600_000_000)
    for one in _CATALOGUES:
        if "{language}" in one.url:
            for language, path in one.paths.items():
                yield GeneralFile(f"{one.project}.{language}.po", one.url.format(language=path), 100_000_000)
        else:
            yield GeneralFile(_archive_name(one), one.url, 200_000_000)
    yield GeneralFile("tico19.zip", _TICO, 100_000_000)
    for language in ("en", "de", "zh"):
        yield GeneralFile(f"xquad.{language}.json", _XQUAD.format(language=language), 20_000_000)
    for news in _NEWS:
        yield GeneralFile(f"{news.name}.tar.gz", news.url, 500_000_000, FilePin("md5", news.md5))


def lay_out_general(downloads: Path, folder: Path) -> None:
    """Write SOURCE.LANGUAGE.tsv.gz, English first, and the test sets in news/, the source first."""
    for language in _EUROPARL:
        pairs = _europarl(downloads / f"europarl.{language}.tsv.gz")
        _write(folder / f"europarl.{language}.tsv.gz", pairs)
    for one in _CATALOGUES:
        for language in one.paths:
            _write(folder / f"{one.project}.{language}.tsv.gz", _catalogue_pairs(one, language, downloads))
    for split in ("dev", "test"):
        for language in ("fr", "zh"):
            pairs = _tico(downloads / "tico19.zip", f"tico19-testset/{split}/{split}.en-{language}.tsv")
            _write(folder / f"tico19.{language}.{split}.tsv.gz", pairs)
    english = _xquad(downloads / "xquad.en.json")
    for language in ("de", "zh"):
        other = _xquad(downloads / f"xquad.{language}.json")
        _write(folder / f"xquad.{language}.tsv.gz", ((english[key], other[key]) for key in english if key in other))
    (folder / "news").mkdir()
    for news in _NEWS:
        wanted = {news.member.format(direction=direction): direction for direction in news.directions}
        for name, content in read_tar_members(downloads / f"{news.name}.tar.gz", max_bytes=_MAX_BYTES):
            if (direction := wanted.pop(name, None)) is not None:
                _write(folder / "news" / f"{news.name}.{direction}.tsv.gz", _news(content, name, news.translator))
        if wanted:
            raise HeedfulError(
                f"{news.name}.tar.gz is not the file that was expected: there is no {min(wanted)} in it."
            )


def _archive_name(one: _Catalogues) -> str:
    return f"{one.project}.{'-'.join(one.paths)}.tar.gz"


def _catalogue_pairs(one: _Catalogues, language: str, downloads: Path) -> Iterator[tuple[str, str]]:
    """Yield every different pair of the PO files of a project."""
    seen: set[tuple[str, str]] = set()
    for content in _catalogue_texts(one, language, downloads):
        for pair in pairs_of_po(_decoded(content, f"{one.project}.{language}.po")):
            if pair not in seen:
                seen.add(pair)
                yield pair


def _catalogue_texts(one: _Catalogues, language: str, downloads: Path) -> Iterator[bytes]:
    if "{language}" in one.url:
        yield b"".join(read_content(downloads / f"{one.project}.{language}.po", max_bytes=_MAX_BYTES))
        return
    members = read_tar_members(downloads / _archive_name(one), max_bytes=_MAX_BYTES)
    for name, content in members:
        inside = name.partition("/")[2]  # an archive of GitHub has one folder, named after the repository
        if inside.startswith(one.paths[language]) and inside.endswith(".po"):
            yield content


def _europarl(path: Path) -> Iterator[tuple[str, str]]:
    """Yield English and translation; the file has the translation first, then more columns, and empty lines."""
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
            for line in lines:
                columns = line.rstrip("\r\n").split("\t")
                if len(columns) >= 2 and columns[0].strip() and columns[1].strip():
                    yield columns[1].strip(), columns[0].strip()
    except (EOFError, gzip.BadGzipFile, UnicodeDecodeError, OSError) as error:
        raise HeedfulError(f"{path.name} is not the file that was expected: it cannot be read ({error}).") from error


def _tico(path: Path, member: str) -> Iterator[tuple[str, str]]:
    text = _decoded(b"".join(read_content(path, member, max_bytes=_MAX_BYTES)), member)
    for line in text.split("\n")[1:]:  # the first names the columns
        columns = [column.strip() for column in line.split("\t")]
        if len(columns) >= 4 and columns[2] and columns[3]:
            yield columns[2], columns[3]


def _xquad(path: Path) -> dict[str, str]:
    """Return the questions by their ids, which are the same in all languages."""
    try:
        articles = json.loads(path.read_bytes())["data"]
        asked = [entry for article in articles for paragraph in article["paragraphs"] for entry in paragraph["qas"]]
        return {str(entry["id"]): " ".join(str(entry["question"]).split()) for entry in asked}
    except (ValueError, KeyError, TypeError) as error:
        raise HeedfulError(f"{path.name} is not the file that was expected: it holds no questions.") from error


def _news(content: bytes, name: str, translator: str) -> Iterator[tuple[str, str]]:
    """Yield source and reference of each segment; documents that test one phenomenon only are passed over."""
    try:
        root = ElementTree.fromstring(content)  # noqa: S314 - the archive has been held against its checksum
    except ElementTree.ParseError as error:
        raise HeedfulError(f"{name} is not the file that was expected: it is no XML ({error}).") from error
    for document in root.iter("doc"):
        references = [one for one in document.findall(".//ref") if one.get("translator") == translator]
        if "testsuite" in document.attrib or not references:
            continue
        translated = {segment.get("id"): segment.text or "" for segment in references[0].iter("seg")}
        for segment in document.findall(".//src//seg"):
            source, reference = segment.text or "", translated.get(segment.get("id"), "")
            if source.strip() and reference.strip():
                yield " ".join(source.split()), " ".join(reference.split())


def _decoded(content: bytes, name: str) -> str:
    try:
        return content.decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise HeedfulError(f"{name} must be UTF-8 text, but is not: {error}.") from error


def _write(path: Path, pairs: Pairs) -> None:
    """Write pairs, one a line; a file without any is not what was expected."""
    count = 0

    def rows() -> Iterator[bytes]:
        nonlocal count
        for source, target in pairs:
            count += 1
            yield f"{source}\t{target}\n".encode()

    write_gzip(path, rows())
    if not count:
        raise HeedfulError(f"{path.name} must have pairs, but what was fetched for it holds none.")
