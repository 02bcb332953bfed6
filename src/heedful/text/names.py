"""Names of a text that its translation lacks, for languages that write names, and few other words, with a capital.

A name stays what it is, or changes little: "Maria" for "Mary", "Londres" for "London". A word with a capital inside an
English or French sentence that has nothing like it on the other side was lost, unless it is one that languages do
translate: countries, nationalities, days, titles. German writes every noun with a capital, so there names show only
after a title or where somebody is called by one. Knows no model: it works for any two texts in Latin letters.
"""

import re
import unicodedata
from collections.abc import Iterator
from difflib import SequenceMatcher

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_BEGIN = re.compile(r"(?:^|[.!?:;…—–\"“”„«»‹›()\[\]]|\s[-*•])\s*$")
"""Before the first word of a sentence, of a quotation or of an item."""

_AFTER_TITLE = re.compile(
    r"\b(?:Herrn?|Frau|Dr\.|Prof\.|Fräulein|namens|Name ist)\s+(?!Ihre?|Sie\b)([A-ZÄÖÜ][^\W\d_]{2,})"
    r"|\b(?:heiße|heißt|hieß)\s+(?!Ihre?|Sie\b|Das\b)([A-ZÄÖÜ][^\W\d_]{2,})(?=[.,!?]|$)"
)
_AROUND = re.compile(r"^(?:[dlDLjJnNsStTmMcC]|qu|Qu)['’]|['’](?:s|m|d|ll|ve|re)$")
"""What French puts before a name, and English after it or after "I"."""

_HINT = re.compile(r"[\s'’][A-ZÀ-Þ][a-zà-ÿ]{2}")
"""In every text with a name after its first word; most have none."""

_ALIKE = str.maketrans("cyz", "kis")
_LEAST_LETTERS, _LEAST_ALIKE = 3, 0.55
_LOOKED_AT = 2_000  # characters on a side

_OFTEN_TRANSLATED = """
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december christmas easter halloween thanksgiving new year god lord bible sir madam
    mister miss mrs mr ms dr doctor professor president king queen prince princess pope mom mum dad father mother
    uncle aunt grandma grandpa captain general officer earth moon sun mars venus mercury jupiter saturn north south
    east west northern southern eastern western university school college church street avenue park lake river mount
    mountain sea ocean island bridge tower museum hospital hotel station airport house palace castle city state
    states united kingdom republic union nations america american americans europe european europeans asia asian
    africa african england english englishman britain british scotland scottish ireland irish wales welsh france
    french frenchman germany german germans austria austrian switzerland swiss italy italian italians spain spanish
    spaniard portugal portuguese greece greek greeks turkey turkish turk russia russian russians china chinese japan
    japanese korea korean india indian indians egypt egyptian netherlands dutch holland belgium belgian denmark
    danish dane sweden swedish swede norway norwegian finland finnish finn poland polish pole hungary hungarian
    hungarians czech brazil brazilian mexico mexican canada canadian canadians australia australian cologne munich
    vienna geneva venice milan rome naples florence athens moscow warsaw prague beijing peking tokyo cairo lisbon
    brussels bavaria saxony rhine danube thames seine alps internet web tv catholic christian muslim islam jewish
    jew buddhist latin esperanto hebrew arabic renaissance revolution war world jésus dieu seigneur noël pâques
    allah mme mlle monsieur madame mademoiselle état états unis saint sainte terre allemagne angleterre espagne
    autriche suisse grèce russie chine japon corée inde égypte pologne suède norvège allemand allemands anglais
    français française espagnol russe chinois japonais américain américaine américains étasunien étasunienne ouest
    nord sud occidentale orientale mesdames messieurs amérique guerre jeux olympic federal santa day eve red cross
    games age ages cold great ambassador cup center claus stone valentine père moyen pays palais paradis diable
    atlantic pacific mediterranean ok okay
"""
"""What English or French writes with a capital, and other languages say otherwise."""

_TRANSLATED = frozenset(_OFTEN_TRANSLATED.split())


def lost_names(source: str, target: str, source_language: str, target_language: str) -> list[str]:
    """Return the names of a text that have nothing like them in its translation; none where scripts differ."""
    if not {source_language, target_language} <= {"en", "de", "fr"} or max(len(source), len(target)) > _LOOKED_AT:
        return []
    names = list(dict.fromkeys(_names(source, source_language)))
    if not names:
        return []
    written = [plain for word in _WORD.findall(target) if (plain := _plain(word))]  # one may be marks alone
    return [name for name in names if not any(_is_like(_plain(name), word) for word in written)]


def _names(text: str, language: str) -> Iterator[str]:
    if language == "de":
        for match in _AFTER_TITLE.finditer(text):
            yield match[match.lastindex or 0]
        return
    if _HINT.search(text) is None:
        return
    for match in _WORD.finditer(text):
        word = _AROUND.sub("", match[0])
        is_name = word[:1].isupper() and word[1:].islower() and len(word) >= _LEAST_LETTERS
        if is_name and not _is_translated(word) and not _BEGIN.search(text[: match.start()][-40:]):
            yield word


def _is_translated(word: str) -> bool:
    return any(part in _TRANSLATED or part.removesuffix("s") in _TRANSLATED for part in word.lower().split("-"))


def _plain(word: str) -> str:
    """Spell a word so that languages differ less: without marks, c and k, y and i, ph and f the same."""
    letters = unicodedata.normalize("NFKD", word.lower().replace("ß", "ss").replace("ph", "f"))
    return "".join(letter for letter in letters if letter.isalpha()).translate(_ALIKE)


def _is_like(name: str, word: str) -> bool:
    """Say whether a word may be the same name: it begins alike, contains it, or most of its letters are the same."""
    if name[:3] == word[:3] or name in word:
        return True
    return name[0] == word[0] and SequenceMatcher(None, name, word).ratio() >= _LEAST_ALIKE
