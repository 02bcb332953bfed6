"""Terms a user insists on: how they are written down, and which of them a text has.

A line of a glossary is a source, a tab and what it becomes, then further forms that are as good, with tabs between.
An entry in small letters is found in any case, one with capitals only as it is written ("us" is not "US"). Knows text
only; that translations contain what they must is the business of the search.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from heedful.errors import UserError, count_of
from heedful.text.words import is_unspaced

MAX_ENTRIES = 20_000
_MAX_CHARACTERS = 200


@dataclass(frozen=True)
class Entry:
    """A term of the source and what it becomes, in any one of several forms."""

    source: str
    forms: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse what cannot be found, or written."""
        for text in (self.source, *self.forms):
            if not text.strip() or len(text) > _MAX_CHARACTERS or "\n" in text:
                raise UserError(
                    f"A term of a glossary must be one line of 1 to {_MAX_CHARACTERS} characters, but one has "
                    f"{count_of(len(text), 'character')}{' of white space only' if text and not text.strip() else ''}."
                )
        if not self.forms:
            raise UserError(f'A term of a glossary must have a translation, but "{self.source}" has none.')


@dataclass(frozen=True)
class TermPlace:
    """A term that a text has, and the characters at which its translation has one of its forms."""

    source: str
    start: int
    end: int


@dataclass(frozen=True)
class Glossary:
    """Entries, and a way to find them in texts."""

    entries: tuple[Entry, ...] = ()

    def __post_init__(self) -> None:
        """Refuse too many."""
        if len(self.entries) > MAX_ENTRIES:
            raise UserError(f"A glossary must have at most {MAX_ENTRIES:,} entries, but has {len(self.entries):,}.")

    def terms_of(self, text: str) -> dict[str, tuple[str, ...]]:
        """Return the sources that a text has, in order, with their forms; of those that overlap the longest counts."""
        if not self.entries:
            return {}
        found: dict[str, tuple[str, ...]] = {}
        for match in self._pattern.finditer(text):
            written = _one_space(match.group())
            forms = self._forms.get(written) or self._forms.get(written.lower())
            if forms is not None:
                found.setdefault(written.lower(), forms)
        return found

    def places_in(self, text: str, translation: str) -> list[TermPlace]:
        """Return where the translation of a text has what its terms become, in order."""
        found = {
            match.span(): source
            for source, forms in self.terms_of(text).items()
            for form in forms
            for match in re.finditer(re.escape(form), translation, re.IGNORECASE)
        }
        longest = dict(sorted(found))  # of those that begin at the same character
        return [TermPlace(found[span], *span) for span in longest.items()]

    @cached_property
    def _forms(self) -> dict[str, tuple[str, ...]]:
        forms: dict[str, tuple[str, ...]] = {}
        for entry in self.entries:
            source = _one_space(entry.source)
            forms[source] = tuple(dict.fromkeys((*forms.get(source, ()), *(form.strip() for form in entry.forms))))
        return forms

    @cached_property
    def _pattern(self) -> "re.Pattern[str]":
        return re.compile("|".join(map(_as_pattern, sorted(self._forms, key=len, reverse=True))))


def _one_space(text: str) -> str:
    return " ".join(text.split())


def _as_pattern(source: str) -> str:
    """Match a source as whole words, in any case where it is written in small letters."""
    words = r"\s+".join(map(re.escape, source.split(" ")))
    words = f"(?i:{words})" if source == source.lower() else words
    before = r"(?<!\w)" if source[0].isalnum() and not is_unspaced(source[0]) else ""
    after = r"(?!\w)" if source[-1].isalnum() and not is_unspaced(source[-1]) else ""
    return before + words + after


@lru_cache(maxsize=4096)
def _compiled(words: str) -> "re.Pattern[str]":
    return re.compile(_as_pattern(_one_space(words)))


def find_sources(sources: Sequence[str], text: str) -> list[list[tuple[int, int]]]:
    """Return the characters of a text at which each source stands, but not as a part of a longer one."""
    found: dict[str, list[tuple[int, int]]] = {}
    taken: list[tuple[int, int]] = []
    for source in sorted(sources, key=len, reverse=True):
        spans = [match.span() for match in _compiled(source).finditer(text)]
        spans = [span for span in spans if not any(span[0] < end and start < span[1] for start, end in taken)]
        found[source] = spans
        taken += spans
    return [found[source] for source in sources]


def occurrences(words: str, text: str) -> int:
    """Count how often words stand in a text, found by the rules for sources."""
    return sum(1 for _ in _compiled(words).finditer(text))


def read_glossary(lines: Iterable[str], name: str) -> Glossary:
    """Read the lines of a glossary; blank ones and those that begin with # are passed over."""
    entries = []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        source, *forms = (cell.strip() for cell in line.rstrip("\r\n").split("\t"))
        try:
            entries.append(Entry(source, tuple(form for form in forms if form)))
        except UserError as error:
            raise UserError(f"Line {number:,} of {name}: {error} Write SOURCE, a tab, TARGET.") from None
    return Glossary(tuple(entries))


def load_glossary(path: Path) -> Glossary:
    """Read a glossary from a file in UTF-8."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = "is not UTF-8" if isinstance(error, UnicodeDecodeError) else (error.strerror or str(error))
        raise UserError(f"The glossary {path} must be a text file that can be read, but: {reason}.") from None
    return read_glossary(text.split("\n"), str(path))


NO_TERMS = Glossary()
