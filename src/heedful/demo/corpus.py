"""A parallel corpus that the package makes itself: dates, times and amounts, written out in English and German.

Small, free and endless, and still translation: word order changes (`eighty-seven` is `siebenundachtzig`, seven and
eighty), words fuse, cases inflect, and `half past seven` is `halb acht`, half of eight. Only a model that has found
the rules gets an unseen line right, and the right answer is known. Knows nothing of models or files.
"""

import random
from dataclasses import dataclass

# fmt: off
UNITS_EN = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
]
UNITS_DE = [
    "null", "ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf",
    "dreizehn", "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn",
]
TENS_EN = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
TENS_DE = ["", "", "zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"]
MONTHS_EN = [
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
]
MONTHS_DE = [
    "januar", "februar", "märz", "april", "mai", "juni", "juli", "august", "september", "oktober", "november",
    "dezember",
]
DAYS_EN = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
DAYS_DE = ["montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag"]
# fmt: on
ORDINALS_EN = {1: "first", 2: "second", 3: "third", 5: "fifth", 8: "eighth", 9: "ninth", 12: "twelfth"}
ORDINALS_DE = {1: "ersten", 3: "dritten", 7: "siebten", 8: "achten"}
MONTH_LENGTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
THINGS = [
    ("one house", "ein haus", "houses", "häuser"),
    ("one book", "ein buch", "books", "bücher"),
    ("one tree", "ein baum", "trees", "bäume"),
    ("one child", "ein kind", "children", "kinder"),
    ("one year", "ein jahr", "years", "jahre"),
    ("one euro", "ein euro", "euros", "euro"),
]


@dataclass(frozen=True)
class DemoCorpus:
    """Pairs of lines; no English line is in two of the three parts."""

    train: list[tuple[str, str]]
    validation: list[tuple[str, str]]
    test: list[tuple[str, str]]


def make_corpus(num_train: int = 20_000, num_validation: int = 200, num_test: int = 300, seed: int = 1) -> DemoCorpus:
    """Draw distinct pairs and part them; the same numbers give the same corpus on every machine."""
    draw = random.Random(seed)  # noqa: S311 - no secret depends on it
    pairs: dict[str, str] = {}
    while len(pairs) < num_train + num_validation + num_test:
        english, german = draw.choices([_date, _time, _amount], weights=[4, 1, 3])[0](draw)
        pairs.setdefault(english, german)
    lines = list(pairs.items())
    draw.shuffle(lines)
    held_out = num_validation + num_test
    return DemoCorpus(train=lines[held_out:], validation=lines[:num_validation], test=lines[num_validation:held_out])


def english_number(number: int) -> str:
    """Write 0 to 999,999 in English words."""
    if number >= 1000:
        thousands, rest = divmod(number, 1000)
        joint = " and " if 0 < rest < 100 else " " if rest else ""
        return f"{english_number(thousands)} thousand{joint}{english_number(rest) if rest else ''}"
    if number >= 100:
        hundreds, rest = divmod(number, 100)
        return f"{UNITS_EN[hundreds]} hundred{' and ' + english_number(rest) if rest else ''}"
    if number >= 20:
        tens, units = divmod(number, 10)
        return f"{TENS_EN[tens]}-{UNITS_EN[units]}" if units else TENS_EN[tens]
    return UNITS_EN[number]


def german_number(number: int) -> str:
    """Write 0 to 999,999 in German words: one word, units before tens."""
    if number == 1:
        return "eins"
    if number >= 1000:
        thousands, rest = divmod(number, 1000)
        return f"{_german_prefix(thousands)}tausend{german_number(rest) if rest else ''}"
    if number >= 100:
        hundreds, rest = divmod(number, 100)
        return f"{UNITS_DE[hundreds]}hundert{german_number(rest) if rest else ''}"
    if number >= 20:
        tens, units = divmod(number, 10)
        return f"{UNITS_DE[units]}und{TENS_DE[tens]}" if units else TENS_DE[tens]
    return UNITS_DE[number]


def _german_prefix(thousands: int) -> str:
    """Write how many thousands: `ein`, not `eins`, at the end."""
    words = german_number(thousands)
    return words.removesuffix("s") if words.endswith("eins") else words


def english_ordinal(number: int) -> str:
    """Write 1 to 31 as an English ordinal."""
    tens, units = divmod(number, 10)
    if number > 20 and units:
        return f"{TENS_EN[tens]}-{english_ordinal(units)}"
    word = ORDINALS_EN.get(number) or UNITS_EN[number] if number < 20 else TENS_EN[tens]
    return word if number in ORDINALS_EN else word.removesuffix("y") + ("ieth" if word.endswith("y") else "th")


def german_ordinal(number: int) -> str:
    """Write 1 to 31 as a German ordinal in the dative: `am dritten`."""
    if number in ORDINALS_DE:
        return ORDINALS_DE[number]
    return f"{german_number(number)}{'ten' if number < 20 else 'sten'}"


def english_year(year: int) -> str:
    """Write 1100 to 2099 as a year: `nineteen eighty-seven`, `two thousand and nine`."""
    hundreds, rest = divmod(year, 100)
    if 2000 <= year < 2010:
        return english_number(year)
    if not rest:
        return f"{english_number(hundreds)} hundred"
    return f"{english_number(hundreds)} {'oh ' if rest < 10 else ''}{english_number(rest)}"


def german_year(year: int) -> str:
    """Write 1100 to 2099 as a year: `neunzehnhundertsiebenundachtzig`, `zweitausendneun`."""
    hundreds, rest = divmod(year, 100)
    if year >= 2000:
        return german_number(year)
    return f"{german_number(hundreds)}hundert{german_number(rest) if rest else ''}"


def _date(draw: random.Random) -> tuple[str, str]:
    month = draw.randrange(12)
    day, year = draw.randint(1, MONTH_LENGTHS[month]), draw.randint(1100, 2099)
    english, german = f"the {english_ordinal(day)} of {MONTHS_EN[month]}", f"{german_ordinal(day)} {MONTHS_DE[month]}"
    if draw.random() < 0.5:
        weekday = draw.randrange(7)
        english, german = f"{DAYS_EN[weekday]} {english}", f"{DAYS_DE[weekday]}, dem {german}"
    return f"on {english} {english_year(year)}", f"am {german} {german_year(year)}"


def _time(draw: random.Random) -> tuple[str, str]:
    hour, weekday = draw.randint(1, 12), draw.randrange(7)
    hour_de = [german_number(h % 12 or 12) for h in (hour, hour + 1)]
    minutes = draw.randint(1, 14)
    counted = "one minute" if minutes == 1 else f"{english_number(minutes)} minutes"
    counted_de = "eine minute" if minutes == 1 else f"{german_number(minutes)} minuten"
    english, german = draw.choice(
        [
            (f"half past {english_number(hour)}", f"halb {hour_de[1]}"),
            (f"a quarter past {english_number(hour)}", f"viertel nach {hour_de[0]}"),
            (f"a quarter to {english_number(hour % 12 + 1)}", f"viertel vor {hour_de[1]}"),
            (f"{counted} past {english_number(hour)}", f"{counted_de} nach {hour_de[0]}"),
            (f"{counted} to {english_number(hour % 12 + 1)}", f"{counted_de} vor {hour_de[1]}"),
        ]
    )
    return f"on {DAYS_EN[weekday]} at {english}", f"am {DAYS_DE[weekday]} um {german}"


def _amount(draw: random.Random) -> tuple[str, str]:
    number = draw.randrange(10 ** draw.randint(2, 6))
    one_en, one_de, many_en, many_de = draw.choice(THINGS)
    if number == 1:
        return one_en, one_de
    return f"{english_number(number)} {many_en}", f"{german_number(number)} {many_de}"
