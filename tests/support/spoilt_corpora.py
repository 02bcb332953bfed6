"""Sentences in three languages that say the same, and ways in which a corpus of them is spoilt."""

import random

_WHO = [
    ("The old man", "Der alte Mann", "Le vieil homme"),
    ("A young woman", "Eine junge Frau", "Une jeune femme"),
    ("My little brother", "Mein kleiner Bruder", "Mon petit frère"),
    ("Our neighbour", "Unser Nachbar", "Notre voisin"),
    ("The tall teacher", "Die große Lehrerin", "La grande enseignante"),
    ("Her uncle", "Ihr Onkel", "Son oncle"),
    ("The tired baker", "Der müde Bäcker", "Le boulanger fatigué"),
    ("A farmer", "Ein Bauer", "Un paysan"),
    ("The girl next door", "Das Mädchen von nebenan", "La fille d'à côté"),
    ("Somebody", "Jemand", "Quelqu'un"),
]  # fmt: skip
_DOES = [
    ("buys {} apples", "kauft {} Äpfel", "achète {} pommes"),
    ("is reading {} books", "liest {} Bücher", "lit {} livres"),
    ("has lost {} keys", "hat {} Schlüssel verloren", "a perdu {} clés"),
    ("sells {} shoes", "verkauft {} Schuhe", "vend {} chaussures"),
    ("would like {} eggs", "möchte {} Eier haben", "voudrait {} œufs"),
    ("sees {} birds", "sieht {} Vögel", "voit {} oiseaux"),
    ("paints {} pictures", "malt {} Bilder", "peint {} tableaux"),
    ("counts {} stars", "zählt {} Sterne", "compte {} étoiles"),
    ("is waiting for {} guests", "wartet auf {} Gäste", "attend {} invités"),
    ("plants {} trees", "pflanzt {} Bäume", "plante {} arbres"),
]  # fmt: skip
_WHERE = [
    ("in the garden.", "im Garten.", "dans le jardin."),
    ("at the market.", "auf dem Markt.", "au marché."),
    ("behind the church this morning.", "heute Morgen hinter der Kirche.", "derrière l'église ce matin."),
    ("because the weather is so beautiful.", "weil das Wetter so schön ist.", "parce que le temps est si beau."),
    ("near the river, where the children play.", "am Fluss, wo die Kinder spielen.",
     "près de la rivière, où les enfants jouent."),
    ("and goes home afterwards.", "und geht danach nach Hause.", "et rentre ensuite à la maison."),
    ("although it is already late.", "obwohl es schon spät ist.", "bien qu'il soit déjà tard."),
    ("with my sister.", "mit meiner Schwester.", "avec ma sœur."),
]  # fmt: skip

Pairs = list[tuple[str, str]]


def sentences(count: int, seed: int = 1) -> list[tuple[str, str, str]]:
    """Different sentences, each in English, German and French."""
    draw = random.Random(seed)
    found: dict[str, tuple[str, str, str]] = {}
    while len(found) < count:
        number = str(draw.randrange(2, 90))
        parts = [draw.choice(part) for part in (_WHO, _DOES, _WHERE)]
        english, german, french = (" ".join(part[side] for part in parts).format(number) for side in range(3))
        found[english] = (english, german, french)
    return list(found.values())


def sound(count: int = 400) -> Pairs:
    return [(english, german) for english, german, _ in sentences(count)]


def shifted(count: int = 400, *, lost: int = 200) -> Pairs:
    """The source that would be line `lost` is lost: from there on every target stands a line later."""
    pairs = sound(count)
    sources = [source for source, _ in pairs]
    del sources[lost - 1]
    return list(zip(sources, [target for _, target in pairs[:-1]], strict=True))


def exchanged(count: int = 400) -> Pairs:
    return [(german, english) for english, german in sound(count)]


def copied(count: int = 400) -> Pairs:
    return [(source, source if number % 2 else target) for number, (source, target) in enumerate(sound(count))]


def half_french(count: int = 400) -> Pairs:
    found = enumerate(sentences(count))
    return [(english, french if number % 2 else german) for number, (english, german, french) in found]


def misread(text: str) -> str:
    """UTF-8 read as cp1252, as most programs do it: the five bytes it does not know stay what they are."""
    holes = (0x81, 0x8D, 0x8F, 0x90, 0x9D)
    return "".join(chr(byte) if byte in holes else bytes([byte]).decode("cp1252") for byte in text.encode())


def mojibake(count: int = 400) -> Pairs:
    return [(source, misread(target)) for source, target in sound(count)]
