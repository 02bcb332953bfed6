"""Which scripts a text is written in, and what a script says about the language.

Most scripts are one language's, or mainly one's; where several share one, the letters that only some of them have
decide. Latin letters say nothing here: text/language_detection.py looks at their order.
"""

import re
from bisect import bisect_right
from collections import Counter

from heedful.text.words import HAN

CHINESE, JAPANESE = "zh", "ja"

UNDETERMINED = "und"
"""The code of a language that nobody can name (ISO 639)."""

LATIN = re.compile("[a-z\u00aa\u00ba\u00df-\u024f\u0250-\u02af\u1e00-\u1eff]", re.IGNORECASE)
_HAN = re.compile(f"[{HAN}]")
_OTHER_LETTER = re.compile(f"[^\\W\\d_a-zA-Z\u00aa\u00ba\u00c0-\u02af\u1e00-\u1eff{HAN}]")

_LEAST_KANA = 0.12
"""Share of kana among ideographs and kana from which a text is Japanese: a Chinese text quotes a name at most."""

_RANGES = (
    (0x0370, 0x03FF, "el"), (0x0400, 0x052F, "ru"), (0x0530, 0x058F, "hy"), (0x0590, 0x05FF, "he"),
    (0x0600, 0x06FF, "ar"), (0x0750, 0x077F, "ar"), (0x0780, 0x07BF, "dv"), (0x08A0, 0x08FF, "ar"),
    (0x0900, 0x097F, "hi"), (0x0980, 0x09FF, "bn"), (0x0A00, 0x0A7F, "pa"), (0x0A80, 0x0AFF, "gu"),
    (0x0B00, 0x0B7F, "or"), (0x0B80, 0x0BFF, "ta"), (0x0C00, 0x0C7F, "te"), (0x0C80, 0x0CFF, "kn"),
    (0x0D00, 0x0D7F, "ml"), (0x0D80, 0x0DFF, "si"), (0x0E00, 0x0E7F, "th"), (0x0E80, 0x0EFF, "lo"),
    (0x0F00, 0x0FFF, "bo"), (0x1000, 0x109F, "my"), (0x10A0, 0x10FF, "ka"), (0x1100, 0x11FF, "ko"),
    (0x1200, 0x139F, "am"), (0x1780, 0x17FF, "km"), (0x1800, 0x18AF, "mn"), (0x1C80, 0x1C8F, "ru"),
    (0x1C90, 0x1CBF, "ka"), (0x1F00, 0x1FFF, "el"), (0x2D00, 0x2D2F, "ka"), (0x2D80, 0x2DDF, "am"),
    (0x2DE0, 0x2DFF, "ru"), (0x3041, 0x30FF, "ja"), (0x3105, 0x312F, "zh"), (0x3131, 0x318F, "ko"),
    (0x31F0, 0x31FF, "ja"), (0xA640, 0xA69F, "ru"), (0xA960, 0xA97F, "ko"), (0xAC00, 0xD7FB, "ko"),
    (0xFB1D, 0xFB4F, "he"), (0xFB50, 0xFDFF, "ar"), (0xFE70, 0xFEFF, "ar"),
)  # fmt: skip
"""First and last code point of the blocks, in order, with the language that is most probable when nothing else is
known. A letter outside all of them is of an undetermined one."""

_STARTS = [start for start, _, _ in _RANGES]

_TELLING = {
    "ru": {
        "ru": "ыэё", "uk": "іїєґ", "be": "ўіыэё", "bg": "ъ", "sr": "јљњћђџ", "mk": "јљњѓќѕџ",
        UNDETERMINED: "әіғқңөұүһҙҡҫҷҳӣӯӑӗҕҥҗ",
    },
    "ar": {
        "ar": "كيىةأإؤ", "fa": "پچژگکی", "ur": "ٹڈڑےںھہپچگکی", "ps": "ټډړښځڅېۍګپچی", "ckb": "ەێۆڵڕکیپچگ",
        "ug": "ۇۆۈۋېەىڭگپچ",
    },
    "he": {"he": "", "yi": "ײװױ"},
    "hi": {"hi": "", "mr": "ळ"},
    "bn": {"bn": "", "as": "ৰৱ"},
}  # fmt: skip
"""Letters that only some languages of a script have. The language with most of them in a text is the one; of those
with as many the first, and the first when there are none."""

_SYLLABIC = frozenset({JAPANESE, "ko"})

LANGUAGES = tuple(sorted({language for _, _, language in _RANGES}.union(*_TELLING.values()) - {CHINESE, UNDETERMINED}))
"""What can be known by its script, beside Chinese."""


def count_scripts(text: str) -> dict[str, int]:
    """Count the letters of a text that are not Latin, by the language they speak for.

    The text is in lower case. A syllable counts for two letters, an ideograph for three.
    """
    num_han = len(_HAN.findall(text))
    others = _OTHER_LETTER.findall(text)
    letters: dict[str, Counter[str]] = {}
    for letter, count in Counter(others).items():
        letters.setdefault(_language_of(letter), Counter())[letter] = count
    num_kana = letters[JAPANESE].total() if JAPANESE in letters else 0
    found = {
        _told_by(letters_of, language): letters_of.total() * (2 if language in _SYLLABIC else 1)
        for language, letters_of in letters.items()
    }
    if num_han:
        ideographic = JAPANESE if num_kana >= _LEAST_KANA * (num_kana + num_han) else CHINESE
        found[ideographic] = found.get(ideographic, 0) + 3 * num_han
    return found


def _language_of(letter: str) -> str:
    code = ord(letter)
    _, end, language = _RANGES[max(0, bisect_right(_STARTS, code) - 1)]
    return language if _RANGES[0][0] <= code <= end else UNDETERMINED


def _told_by(letters: Counter[str], language: str) -> str:
    telling = _TELLING.get(language)
    if telling is None:
        return language
    return max(telling, key=lambda one: sum(letters[letter] for letter in telling[one]))
