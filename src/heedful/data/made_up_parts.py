"""Parts of a text that stay the same in every language, made up: numbers, dates, addresses, placeholders, code, names.

What a model should copy it has to see, and few corpora have much of it. Everything is drawn from the generator that is
given. This file knows no sentences.
"""

import random
from collections.abc import Callable

_SHORT = "babebodadofafegagihahekakilolamamimonanenoparariresasesotatetitovaviwozaze"
_SYLLABLES = (
    *(_SHORT[place : place + 2] for place in range(0, len(_SHORT), 2)),
    *("lin", "ber", "sen", "dor", "gar", "man", "tel", "ven", "kor", "bran", "stein", "feld", "hart", "wick"),
)
_ENDINGS = ("com", "org", "net", "de", "fr", "cn", "io")
_UNITS = ("km", "m", "cm", "kg", "g", "GB", "MB", "ms", "kWh", "°C", "%", "€")
_EMOJI = ("😀", "😂", "👍", "❤️", "🎉", "🙏", "😢", "🚀", "🔥", "✅", "⚠️", "🤔", "☕", "🐍", "🥳")
_FIELDS = ("name", "count", "user", "date", "file", "total", "city", "title", "n", "0", "1")
_PLACEHOLDERS = ("{*}", "{{*}}", "${*}", "%(*)s", "[*]", "{{ * }}", "<*>", ":*")
_BARE_PLACEHOLDERS = ("%s", "%d", "%1$s", "%@", "$1", "{}", "{0}")
_CODE = ("*()", "*.py", "*.json", "--*", "/usr/*", "@*", "#*", "*.txt", "git *", "*[0]")
"""A star is where the content goes."""

TAGS = ("b", "i", "em", "strong", "code", "a", "u", "span", "p", "li")

Maker = Callable[[random.Random], str]


def word(chance: random.Random) -> str:
    """Make up a word that is in no dictionary."""
    return "".join(chance.choice(_SYLLABLES) for _ in range(chance.randint(2, 3)))


def name(chance: random.Random) -> str:
    """Make up a name of one or two words."""
    return " ".join(word(chance).capitalize() for _ in range(chance.choice((1, 1, 2))))


def number(chance: random.Random) -> str:
    """Make up a number without separators, which languages write in different ways."""
    return str(chance.randint(2, 10 ** chance.randint(1, 6) + 2))


def date(chance: random.Random) -> str:
    """Make up a date in digits, or a time."""
    if chance.random() < 0.4:
        return f"{chance.randint(0, 23):02}:{chance.randint(0, 59):02}"
    return f"{chance.randint(1950, 2035)}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"


def amount(chance: random.Random) -> str:
    """Make up a number with a unit."""
    return f"{chance.randint(1, 999)} {chance.choice(_UNITS)}"


def address(chance: random.Random) -> str:
    """Make up a web address, or one of mail."""
    place = f"{word(chance)}.{chance.choice(_ENDINGS)}"
    if chance.random() < 0.4:
        return f"{word(chance)}{chance.choice(('', '.', '_'))}{word(chance)}@{place}"
    path = "".join(f"/{word(chance)}" for _ in range(chance.randint(0, 2)))
    return f"{chance.choice(('https://', 'https://www.', 'http://', 'www.'))}{place}{path}"


def placeholder(chance: random.Random) -> str:
    """Make up a place that a program fills in."""
    if chance.random() < 0.3:
        return chance.choice(_BARE_PLACEHOLDERS)
    field = chance.choice((*_FIELDS, word(chance)))
    return chance.choice(_PLACEHOLDERS).replace("*", field)


def code(chance: random.Random) -> str:
    """Make up a piece of a program."""
    if chance.random() < 0.2:
        return f"v{chance.randint(0, 20)}.{chance.randint(0, 9)}.{chance.randint(0, 30)}"
    content = chance.choice(("", "_")).join(word(chance) for _ in range(2))
    return chance.choice(_CODE).replace("*", content)


def emoji(chance: random.Random) -> str:
    """Draw an emoji."""
    return chance.choice(_EMOJI)


FOR_NAMES: tuple[Maker, ...] = (name, name, name, placeholder, address, code)
FOR_NUMBERS: tuple[Maker, ...] = (number, number, number, date, amount, placeholder)
BESIDE_TEXT: tuple[Maker, ...] = (address, address, code, placeholder, emoji, date, amount)
