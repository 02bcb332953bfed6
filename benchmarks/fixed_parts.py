"""How many of the parts that must not change come through a translation: addresses, numbers, placeholders, tags, emoji.

    python -m benchmarks.fixed_parts [--texts 2000] [--model DIR] [--seed 1]

Sentences of our own in four languages with made-up parts in them, one to three each, translated in six directions. A
text counts as kept when every part is there exactly as often as in the source, and tags are well-formed. Prints a row
for each direction: kept, flagged of those not kept, parts placed by attention, and the time against the same sentences
without parts.
"""

import argparse
import random
import re
import time
from collections import Counter

import heedful

SENTENCES = {
    "en": [
        "Please visit {} for more information.", "Send it to {} before Friday.", "Open {} and read it.",
        "My address is {}.", "Click {} to continue.", "You have {} new messages.", "Hello {}, welcome back!",
        "The price is {}.", "The error was in {}.", "He wrote {} yesterday.", "I found {} on the internet.",
        "We will meet at {}.", "{} is not available.", "Do you know {}?", "I sent {} to {}.",
        "From {} to {} it takes two hours.", "The meeting on {} was moved to {}.", "Press {} and then {}.",
        "If you see {}, please tell me.", "Why did you delete {}?", "I can't find {}, {} or {}.",
        "We counted {} and {} in the first week.", "Write to {} or call {}.", "Nobody has read {} so far.",
    ],
    "de": [
        "Bitte besuchen Sie {} für mehr Informationen.", "Schicken Sie es vor Freitag an {}.", "Öffne {} und lies es.",
        "Meine Adresse ist {}.", "Klicken Sie auf {}, um fortzufahren.", "Sie haben {} neue Nachrichten.",
        "Hallo {}, willkommen zurück!", "Der Preis ist {}.", "Der Fehler war in {}.", "Er hat gestern {} geschrieben.",
        "Ich habe {} im Internet gefunden.", "Wir treffen uns um {}.", "{} ist nicht verfügbar.", "Kennst du {}?",
        "Ich habe {} an {} geschickt.", "Von {} nach {} dauert es zwei Stunden.", "Warum hast du {} gelöscht?",
        "Ich kann {} und {} nicht finden.",
    ],
    "fr": [
        "Visitez {} pour plus d'informations.", "Envoyez-le à {} avant vendredi.", "Ouvre {} et lis-le.",
        "Mon adresse est {}.", "Cliquez sur {} pour continuer.", "Vous avez {} nouveaux messages.",
        "Bonjour {}, bienvenue !", "Le prix est {}.", "L'erreur était dans {}.", "Il a écrit {} hier.",
        "J'ai trouvé {} sur internet.", "Connais-tu {} ?", "J'ai envoyé {} à {}.", "De {} à {} il faut deux heures.",
        "Pourquoi as-tu effacé {} ?", "Je ne trouve pas {} et {}.",
    ],
    "zh": [
        "请访问{}了解更多信息。", "请在星期五之前发给{}。", "打开{}。", "我的地址是{}。", "点击{}继续。",
        "你有{}条新消息。", "你好{}，欢迎回来！", "价格是{}。", "我在网上找到了{}。", "你认识{}吗？",
        "我把{}寄给了{}。", "从{}到{}要两个小时。",
        "你为什么删除{}？", "我找不到{}和{}。",
    ],
}  # fmt: skip
DIRECTIONS = (("en", "de"), ("de", "en"), ("en", "fr"), ("fr", "en"), ("en", "zh"), ("zh", "en"))


def made_up(draw: random.Random) -> str:
    """Draw one part that must not change."""
    number, word = draw.randrange, lambda: draw.choice(["alpha", "report", "user_id", "Kunde", "total", "x1", "data"])
    kinds = [
        lambda: f"https://{word()}.example.org/{word()}?{word()}={number(999)}",
        lambda: f"www.{word()}.com/{word()}.html",
        lambda: f"{word()}.{word()}@{word()}.org", lambda: f"{number(10, 99)},{number(100, 999)}",
        lambda: f"{number(1, 99)}.{number(1, 99)} km", lambda: f"{number(2, 400)} kg", lambda: f"{number(1, 100)}%",
        lambda: f"${number(1, 900)}.{number(10, 99)}", lambda: f"{number(1, 23)}:{number(10, 59)}",
        lambda: f"20{number(10, 40)}-0{number(1, 9)}-{number(10, 28)}",
        lambda: f"{number(10, 28)}.0{number(1, 9)}.2024",
        lambda: f"{{{word()}}}", lambda: f"{{{{{word()}}}}}", lambda: "%s", lambda: f"%({word()})d", lambda: "%1$s",
        lambda: f"${{{word()}}}", lambda: f"`{word()}({number(9)})`", lambda: f"{word()}.txt",
        lambda: f"/usr/{word()}/bin",
        lambda: f"v{number(9)}.{number(20)}.{number(9)}", lambda: f"#{word()}", lambda: f"{number(10_000, 10**9)}",
    ]  # fmt: skip
    return draw.choice(kinds)()


def make_text(draw: random.Random, language: str) -> tuple[str, list[str]]:
    """Draw a sentence with its parts; some have an emoji at the end or a word in tags."""
    sentence = draw.choice(SENTENCES[language])
    parts: list[str] = []
    while "{}" in sentence:
        part = made_up(draw)
        if part not in parts and part not in sentence:
            sentence = sentence.replace("{}", f"\x00{len(parts)}\x00", 1)
            parts.append(part)
    chance = draw.random()
    if chance < 0.1:
        emoji = draw.choice(["😀", "👍🏽", "👨‍👩‍👧", "❤️", "🎉"])
        sentence, parts = f"{sentence} {emoji}", [*parts, emoji]
    elif chance < 0.25:
        tag = draw.choice(["b", "i", "a", "span", "em"])
        opened = f'<{tag} href="x">' if tag == "a" else f"<{tag}>"
        words = [match.span() for match in re.finditer(r"[^\W\d_]{2,}", sentence)]
        start, end = draw.choice(words)
        sentence = f"{sentence[:start]}{opened}{sentence[start:end]}</{tag}>{sentence[end:]}"
        parts = [*parts, opened, f"</{tag}>"]
    for number, part in enumerate(parts):
        sentence = sentence.replace(f"\x00{number}\x00", part)
    return sentence, parts


def is_kept(source: str, text: str, parts: list[str]) -> bool:
    """Say whether every part is there as often as in the source, and every tag is closed after it was opened."""
    if any(text.count(part) != source.count(part) for part in parts):
        return False
    opened: list[str] = []
    for closing, name in re.findall(r"<(/?)([a-z]+)[^<>]*>", text):
        if closing and (not opened or opened.pop() != name):
            return False
        if not closing:
            opened.append(name)
    return not opened


def main() -> None:
    """Translate, count and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--model")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="Print what was not kept.")
    asked = parser.parse_args()
    translator = heedful.load(asked.model)
    draw, totals = random.Random(asked.seed), Counter[str]()
    for source, target in DIRECTIONS:
        made = [make_text(draw, source) for _ in range(asked.texts // len(DIRECTIONS))]
        started = time.perf_counter()
        found = translator.translate_detailed([text for text, _ in made], from_=source, to=target)
        seconds = time.perf_counter() - started
        started = time.perf_counter()
        plain = [draw.choice(SENTENCES[source]).replace("{}", "") for _ in made]
        translator.translate_detailed(plain, from_=source, to=target)
        ratio = seconds / (time.perf_counter() - started)
        counts = Counter[str]()
        for (text, parts), translation in zip(made, found, strict=True):
            codes = {warning.code for warning in translation.warnings}
            kept = is_kept(text, translation.text, parts)
            counts["kept"] += kept
            counts["flagged"] += not kept and bool(codes)
            counts["placed"] += "placed" in codes
            if asked.show and (not kept or "placed" in codes):
                print(text, "|", translation.text, "|", sorted(codes))
        totals += counts
        rest = len(made) - counts["kept"]
        print(
            f"{source}→{target}  {len(made)} texts, kept {counts['kept'] / len(made):.2%}, "
            f"{rest} not kept ({counts['flagged']} flagged), {counts['placed']} placed, {ratio:.2f} × the time"
        )
    total = asked.texts // len(DIRECTIONS) * len(DIRECTIONS)
    print(f"all   kept {totals['kept'] / total:.2%}, placed {totals['placed'] / total:.2%}")


if __name__ == "__main__":
    main()
