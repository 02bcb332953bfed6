"""Writes the sentences that the smallest lesson model learns: English and German by a grammar, in three word orders.

    python -m benchmarks.lesson_phrases data/phrases

"seven old dogs see two birds", "today seven old dogs see two birds" (the verb comes second in German) and "seven old
dogs have seen two birds" (the participle comes last). Numbers make all nouns plural, so German needs no cases here.
"Very very old" is "sehr sehr alte": what stands twice in a row cannot be written without a blank between.
"""

import random
import sys
from pathlib import Path


def _pairs(text: str) -> dict[str, str]:
    return dict(pair.split("=") for pair in text.split())


NUMBERS = _pairs("two=zwei three=drei four=vier five=fünf six=sechs seven=sieben eight=acht nine=neun ten=zehn "
                 "twelve=zwölf")  # fmt: skip
ADJECTIVES = _pairs("old=alte young=junge small=kleine big=große red=rote white=weiße black=schwarze tired=müde "
                    "quick=schnelle friendly=freundliche")  # fmt: skip
NOUNS = _pairs("dogs=Hunde cats=Katzen birds=Vögel horses=Pferde children=Kinder women=Frauen men=Männer "
               "teachers=Lehrer houses=Häuser trees=Bäume books=Bücher letters=Briefe bicycles=Fahrräder "
               "ships=Schiffe friends=Freunde")  # fmt: skip
VERBS = {"see": ("seen", "sehen", "gesehen"), "find": ("found", "finden", "gefunden"),
         "look for": ("looked for", "suchen", "gesucht"), "buy": ("bought", "kaufen", "gekauft"),
         "need": ("needed", "brauchen", "gebraucht"), "paint": ("painted", "malen", "gemalt"),
         "forget": ("forgotten", "vergessen", "vergessen"), "know": ("known", "kennen", "gekannt")}  # fmt: skip
TIMES = _pairs("today=heute tomorrow=morgen often=oft now=jetzt sometimes=manchmal")


def _things(draw: random.Random) -> tuple[str, str]:
    number, noun = draw.choice(list(NUMBERS)), draw.choice(list(NOUNS))
    if draw.random() < 0.4:
        return f"{number} {noun}", f"{NUMBERS[number]} {NOUNS[noun]}"
    adjective = draw.choice(list(ADJECTIVES))
    how = draw.choices(range(3), [6, 2, 2])[0]
    return (
        f"{number} {'very ' * how}{adjective} {noun}",
        f"{NUMBERS[number]} {'sehr ' * how}{ADJECTIVES[adjective]} {NOUNS[noun]}",
    )


def sentence(draw: random.Random) -> tuple[str, str]:
    """Make one sentence and its translation."""
    (who, wer), (what, was) = _things(draw), _things(draw)
    verb = draw.choice(list(VERBS))
    participle, present, past = VERBS[verb]
    kind = draw.randrange(3)
    if kind == 0:
        return f"{who} {verb} {what}.", f"{wer} {present} {was}."
    if kind == 1:
        time = draw.choice(list(TIMES))
        return f"{time} {who} {verb} {what}.", f"{TIMES[time]} {present} {wer} {was}."
    return f"{who} have {participle} {what}.", f"{wer} haben {was} {past}."


def main(folder: Path) -> None:
    """Write training, validation and test sentences, none of them twice."""
    draw = random.Random(1)
    pairs = list(dict.fromkeys(sentence(draw) for _ in range(26_000)))
    parts = {"dev": pairs[:300], "test": pairs[300:1300], "train": pairs[1300:]}
    folder.mkdir(parents=True, exist_ok=True)
    for name, some in parts.items():
        text = "".join(f"{source}\t{target}\n" for source, target in some)
        (folder / f"{name}.tsv").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
