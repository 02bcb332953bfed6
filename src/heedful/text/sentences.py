"""Sentence boundaries, and cutting what is too long for a model into parts that are not.

Nothing is lost: the parts joined are the text. The rules are those that English, German, French and Chinese share, with
the abbreviations of the first three; they are for text whose language nobody has said. Every rule looks at a bounded
number of characters, so the time is linear in the text. What "too long" means is asked of the caller, who knows tokens.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from heedful.text.words import HAN

Fits = Callable[[str], bool]

# A sentence may end after . ! ? … (and closing quotes or brackets) before white space, and after the full-width forms
# of Chinese, which no space follows; so may half-width ! and ? between Chinese characters. The white space belongs to
# the sentence before it. The quantifiers are possessive (`++`): a run of a thousand dots is read once, not from every
# dot again.
_BOUNDARY = re.compile(
    r"(?<![.!?…])(?P<marks>[.!?…]++)(?P<closing>(?:[\"'”“’)\]]|[ \u00a0\u202f]?»)*+)\s++"
    r"|[。！？]++[”’」』）\"']*+\s*+"
    r"|(?<![!?])[!?]++(?=[" + HAN + r"])"
    r"|\n++"
)
_CLAUSE_END = re.compile(r"(?:[,;:–—]++(?=\s)|[，；：、])[”’\"]*+\s*+")
_WORD = re.compile(r"\s*\S+\s*|\s+")
_LAST_WORD = re.compile(r"[^\s(\[\"'„“«»‘’]+$")
_LONGEST_WORD = 24
"""Characters before a full stop that are looked at."""

_INITIALS = re.compile(r"(?:[^\W\d_]\.-?)*[^\W\d_]")
"""Single letters with dots between them: "J", "U.S", "z.B", "J.-P"."""

_ORDINAL = re.compile(r"\d{1,2}")
_AFTER_ORDINAL = re.compile(
    r"(?:jan|feb|mär|april|mai|jun|jul|aug|sep|okt|nov|dez|jahr|welt|klass|stock|etage|platz|liga|mal\b|geburtstag"
    r"|kapitel|auflage|tag\b|woche|semester|stunde|runde|preis|bundes)",
    re.IGNORECASE,
)
"""What makes of a number with a full stop a German ordinal ("am 3. Mai", "im 19. Jahrhundert")."""

# Words that a full stop does not end. "etc.", "usw." and "p.m." are not among them: before a capital they do end one.
_TITLE = re.compile("Mr|Mrs|Ms|Messrs|Dr|Prof|St|Rev|Gen|Col|Capt|Lt|Sgt|Gov|Sen|Hr|Fr|Frl|Mme|Mlle|MM|Mgr")
_NEVER_LAST = re.compile("vs|viz|bzw|bspw|ca|evtl|ggf|inkl|exkl|zzgl|vgl|sog|urspr|approx|env|hrsg|dipl", re.IGNORECASE)
_BEFORE_NUMBER = re.compile(
    "no|nos|nr|vol|pp?|s|fig|abs|art|bd|kap|chap|tel|jan|feb|m[aä]r|apr|jun|jul|aug|sept?|o[kc]t|nov|de[cz]",
    re.IGNORECASE,
)


def split_sentences(text: str) -> list[str]:
    """Cut text into sentences; "".join of them is the text."""
    return list(_cut(text, (match.end() for match in _BOUNDARY.finditer(text) if _is_end(text, match))))


def split_to_fit(text: str, fits: Fits) -> list[str]:
    """Cut text into parts that fit: at sentence ends, else after clauses, else at spaces, else anywhere.

    Neighbours stay together as far as `fits` allows; "".join of the parts is the text. Each part fits, unless it is a
    single character.
    """
    return list(_gather(split_sentences(text), fits, [_clauses, _WORD.findall, list]))


def _is_end(text: str, match: re.Match[str]) -> bool:
    """Say whether a sentence ends at a place that looks like it."""
    marks = match["marks"]
    if marks is None or match.end() == len(text):
        return True
    following = text[match.end()]
    if following.islower() and (marks[-1] in ".…" or match["closing"]):
        # "z. B. heute", "... and so on", "“Really?” he asked": it goes on, unless nobody writes capitals here.
        return marks == "." and not match["closing"] and _is_written_small(text)
    if marks != "." or match["closing"]:
        return True
    before = text[max(0, match.start() - _LONGEST_WORD) : match.start()]
    found = _LAST_WORD.search(before)
    word = found[0] if found else ""
    if _ORDINAL.fullmatch(word):
        is_list_number = before in (word, f"({word}") or before.endswith((f"\n{word}", f"\n({word}"))
        return not is_list_number and not _AFTER_ORDINAL.match(text, match.end())
    if following.isdigit() and _BEFORE_NUMBER.fullmatch(word):
        return False
    if _INITIALS.fullmatch(word):
        return word in ("I", "a.m", "p.m")
    return not _TITLE.fullmatch(word) and not _NEVER_LAST.fullmatch(word)


def _is_written_small(text: str) -> bool:
    """Say whether a text begins with a small letter, as texts do whose sentences do."""
    return next((character.islower() for character in text[:_LONGEST_WORD] if character.isalpha()), False)


def _clauses(sentence: str) -> list[str]:
    return list(_cut(sentence, (match.end() for match in _CLAUSE_END.finditer(sentence))))


def _cut(text: str, ends: Iterator[int]) -> Iterator[str]:
    start = 0
    for end in ends:
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


def _gather(units: Sequence[str], fits: Fits, finer: list[Callable[[str], list[str]]]) -> Iterator[str]:
    """Join neighbouring units while they fit; cut a unit that does not fit by itself by the next finer rule."""
    start, count = 0, 1
    while start < len(units):
        count = _longest_run(units, start, fits, likely=max(count, 1))
        if count:
            yield "".join(units[start : start + count])
        elif finer:
            yield from _gather(finer[0](units[start]), fits, finer[1:])
        else:
            yield units[start]
        start += max(count, 1)


def _longest_run(units: Sequence[str], start: int, fits: Fits, *, likely: int) -> int:
    """Return how many units from `start` on fit together.

    Asks about the `likely` number first, then further and further from it, then between what fits and what does not:
    two questions where one part is like the one before, as in a megabyte without a space.
    """
    enough, too_many = 0, len(units) - start + 1
    count, stride = min(likely, too_many - 1), 1
    while too_many - enough > 1:
        if fits("".join(units[start : start + count])):
            enough, count = count, count + stride
        else:
            too_many, count = count, count - stride
        stride *= 2
        if not enough < count < too_many:
            count = (enough + too_many) // 2
    return enough
