"""Message catalogues of gettext (.po, .pot): a message without a translation is a passage; all else stays.

Translations that are there are kept, unless the catalogue is of another language; fuzzy ones are made again. Plural
forms are as many as the target language has, and the header says so.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from heedful.documents.document import Document, DocumentError, Passage, Segments

_STRING = re.compile(r'\s*(msgctxt|msgid_plural|msgid|msgstr(?:\[(\d)\])?)?\s*"((?:[^"\\]|\\.)*)"\s*')
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_UNESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPED = {**{value: f"\\{key}" for key, value in _UNESCAPED.items()}, '"': '\\"', "\\": "\\\\"}
_CHARSET = re.compile(rb"charset=([\w.-]+)", re.IGNORECASE)
_PLURALS = {
    "nplurals=1; plural=0;": "zh ja ko vi th id ms",
    "nplurals=2; plural=(n > 1);": "fr pt-br",
    "nplurals=2; plural=(n != 1);": "en de nl sv da nb no fi et es it pt el hu bg tr he",
    "nplurals=3; plural=(n==1 ? 0 : n>=2 && n<=4 ? 1 : 2);": "cs sk",
    "nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<12 || n%100>14) ? 1 : 2);": "pl",
    "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<12 || n%100>14) ? 1 : 2);": (
        "ru uk hr sr"
    ),
}
"""The rule of each language, as its own catalogues have it."""


@dataclass
class _Entry:
    """Lines of the file, and, where they are one, the message in them."""

    lines: list[str]
    strings: dict[str, str] = field(default_factory=dict)
    first_translation: int = 0
    """Number of the line where its translations begin."""

    flags: set[str] = field(default_factory=set)

    @property
    def is_header(self) -> bool:
        return self.strings.get("msgid") == "" and "msgctxt" not in self.strings


def read(data: bytes, target: str) -> Document:
    """Read a catalogue."""
    text = _decode(data)
    newline = "\r\n" if "\r\n" in text else "\n"
    entries = list(_entries(text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")))
    messages = [entry for entry in entries if "msgid" in entry.strings and not entry.is_header]
    headers = [entry for entry in entries if entry.is_header]
    if not messages and not headers:
        raise DocumentError("A PO file must have messages (msgid and msgstr), but has none.")
    fields = _fields(headers[0].strings.get("msgstr", "")) if headers else {}
    is_of_target = _base(fields.get("language", target)) == _base(target)
    wanted = [entry for entry in messages if not is_of_target or _is_open(entry)]
    plural_rule = _plural_rule(fields, target, is_of_target)
    passages = [Passage((text,)) for entry in wanted for text in _sources(entry)]

    def write(translations: Sequence[Segments]) -> bytes:
        rest = iter(translations)
        fresh = {
            id(entry): _translated(entry, [next(rest)[0] for _ in _sources(entry)], plural_rule) for entry in wanted
        }
        if headers:
            fresh[id(headers[0])] = _header(headers[0], target, plural_rule)
        lines = [line for entry in entries for line in fresh.get(id(entry), entry.lines)]
        return newline.join(lines).encode("utf-8")

    return Document(tuple(passages), write)


def _decode(data: bytes) -> str:
    found = _CHARSET.search(data)
    name = found[1].decode("ascii") if found and found[1] != b"CHARSET" else "utf-8"
    try:
        text = data.decode(name)
    except (UnicodeDecodeError, LookupError, ValueError):
        raise DocumentError(f"A PO file must be text in the encoding it names, {name}, but is not.") from None
    if "\0" in text:
        raise DocumentError("A PO file must be text, but has a zero byte.")
    return text


def _entries(lines: Sequence[str]) -> Iterator[_Entry]:
    """Cut the lines into messages, each with the comments before it."""
    entry, key = _Entry([]), ""
    for number, line in enumerate(lines, 1):
        is_string = line.strip() and not line.lstrip().startswith("#")
        if not is_string:
            if entry.strings:
                yield _checked(entry, number)
                entry = _Entry([])
            key = ""
            if line.startswith("#,"):
                entry.flags |= {flag.strip() for flag in line[2:].split(",")}
            entry.lines.append(line)
            continue
        match = _STRING.fullmatch(line)
        if match is None or not (match[1] or key):
            raise DocumentError(
                f'A PO file must have `msgid "…"` and the like, but has something else in line {number:,}.'
            )
        if match[1] in ("msgctxt", "msgid") and ("msgstr" in entry.strings or "msgstr[0]" in entry.strings):
            yield _checked(entry, number)
            entry = _Entry([])
        if match[1]:
            key = match[1]
            if key in entry.strings:
                raise DocumentError(
                    f"A PO file must have each part of a message once, but line {number:,} has {key} again."
                )
            if key.startswith("msgstr") and not entry.first_translation:
                entry.first_translation = len(entry.lines)
        entry.strings[key] = entry.strings.get(key, "") + _unescape(match[3])
        entry.lines.append(line)
    yield _checked(entry, len(lines))


def _checked(entry: _Entry, number: int) -> _Entry:
    if entry.strings:
        has_translation = "msgstr" in entry.strings or "msgstr[0]" in entry.strings
        is_whole = "msgid" in entry.strings and has_translation
        if not is_whole or ("msgid_plural" in entry.strings) != ("msgstr[0]" in entry.strings):
            raise DocumentError(
                f"A PO file must have msgid and msgstr of each message, but before line {number:,} one is missing."
            )
    return entry


def _is_open(entry: _Entry) -> bool:
    translations = [value for key, value in entry.strings.items() if key.startswith("msgstr")]
    return "fuzzy" in entry.flags or not all(translations)


def _sources(entry: _Entry) -> list[str]:
    return [entry.strings[key] for key in ("msgid", "msgid_plural") if key in entry.strings]


def _translated(entry: _Entry, translations: Sequence[str], plural_rule: str) -> list[str]:
    """Return the lines of a message with a translation."""
    lines = [line for line in entry.lines[: entry.first_translation] if not line.startswith("#|")]
    lines = [line for line in map(_without_fuzzy, lines) if line is not None]
    if len(translations) == 1:
        return [*lines, *_quoted("msgstr", translations[0])]
    num_forms = int(plural_rule[len("nplurals=") :].split(";")[0])
    forms = [translations[1]] if num_forms == 1 else [translations[0]] + [translations[1]] * (num_forms - 1)
    return [*lines, *(line for number, form in enumerate(forms) for line in _quoted(f"msgstr[{number}]", form))]


def _without_fuzzy(line: str) -> str | None:
    if not line.startswith("#,"):
        return line
    flags = [flag for part in line[2:].split(",") if (flag := part.strip()) and flag != "fuzzy"]
    return "#, " + ", ".join(flags) if flags else None


def _header(entry: _Entry, target: str, plural_rule: str) -> list[str]:
    """Return the lines of the header, with language, plural forms and encoding as they now are."""
    text = re.sub(r"charset=[\w.-]+", "charset=UTF-8", entry.strings["msgstr"])
    for name, value in (("Language", target), ("Plural-Forms", plural_rule)):
        line = re.compile(rf"^{name}:[^\n]*", re.MULTILINE | re.IGNORECASE)
        text = line.sub(f"{name}: {value}", text, count=1) if line.search(text) else f"{text}{name}: {value}\n"
    lines = [line for line in map(_without_fuzzy, entry.lines[: entry.first_translation]) if line is not None]
    return [*lines, *_quoted("msgstr", text)]


def _fields(header: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in header.split("\n") if ":" in line)
    return {name.strip().lower(): value.strip() for name, _, value in pairs if value.strip()}


def _plural_rule(fields: dict[str, str], target: str, is_of_target: bool) -> str:
    own = fields.get("plural-forms", "")
    if is_of_target and re.match(r"nplurals=[1-6];\s*plural=(?!EXPRESSION)", own):
        return own
    rules = {code: rule for rule, codes in _PLURALS.items() for code in codes.split()}
    return rules.get(target.lower().replace("_", "-"), rules.get(_base(target), "nplurals=2; plural=(n != 1);"))


def _base(language: str) -> str:
    return re.split("[-_@.]", language.lower())[0]


def _unescape(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        if match[1] or match[2]:
            return chr(int(match[1], 8) if match[1] else int(match[2], 16))
        return _UNESCAPED.get(match[3], match[3])

    return _ESCAPE.sub(one, text)


def _quoted(key: str, text: str) -> list[str]:
    """Write a string as gettext does: a line of the file for each of its lines."""
    pieces = [piece + "\n" for piece in text.split("\n")[:-1]] + ([last] if (last := text.split("\n")[-1]) else [])
    quoted = ['"' + "".join(_ESCAPED.get(character, character) for character in piece) + '"' for piece in pieces]
    return [f"{key} {quoted[0]}"] if len(quoted) == 1 else [f'{key} ""', *quoted]
