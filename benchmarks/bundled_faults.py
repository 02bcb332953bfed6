"""How often the bundled model doubts itself, on its test sets and on text it was not made for, and loses a negation.

    python benchmarks/bundled_faults.py [--config configs/tatoeba.toml]

Lines are flagged as `heedful translate` flags them. A negation counts as possibly lost when the source has a negating
word and the translation none of its language; the candidates are printed, to be judged by eye: "I don't like it" is
well said by "Je déteste ça".
"""

import argparse
import re

from heedful import load
from heedful.config.load import load_config
from heedful.tasks.translation.test_sets import find_test_sets, read_sentences

NEGATIONS = {
    "en": r"\b(not|no|never|nothing|nobody|none|nowhere|neither|nor|without|cannot|\w+n't)\b",
    "de": r"\b(nicht|nichts|nie|niemals|niemand\w*|kein\w*|ohne|nirgend\w*|weder|nein)\b",
    "fr": r"\b(ne|n|non|pas|jamais|rien|personne|aucun\w*|sans|ni)\b|n['’]",
    "zh": r"[不没沒无無别別未非莫]",
}

OUT_OF_DOMAIN = {
    "law": [
        ("en", "de", "The lessee shall indemnify the lessor against all claims arising out of the use of the rooms."),
        ("en", "zh", "This agreement shall be governed by and construed in accordance with the laws of the State."),
        ("de", "en", "Die Haftung für mittelbare Schäden ist ausgeschlossen, soweit gesetzlich zulässig."),
        ("de", "en", "Der Schuldner hat für Vorsatz und grobe Fahrlässigkeit seiner Erfüllungsgehilfen einzustehen."),
        ("fr", "en", "Le tribunal statue sur la recevabilité de la requête avant tout examen au fond."),
        ("zh", "en", "当事人一方不履行合同义务的，应当承担违约责任。"),
    ],
    "technology": [
        ("en", "fr", "The scheduler preempts a thread when its time slice expires."),
        ("en", "de", "Gradient checkpointing trades recomputation for peak memory."),
        ("de", "en", "Der Arbeitsspeicher wird beim Überlauf auf die Festplatte ausgelagert."),
        ("zh", "en", "编译器在优化阶段会消除无用代码并内联函数。"),
    ],
    "news, a recipe, program code": [
        ("en", "zh", "The central bank raised its benchmark rate by a quarter of a percentage point on Thursday."),
        ("fr", "en", "Les députés ont adopté en première lecture le projet de loi de finances rectificative."),
        ("en", "fr", "Fold the egg whites into the batter, then bake at 180 degrees until golden."),
        ("en", "de", "for (int i = 0; i < n; i++) { sum += a[i]; }"),
    ],
    "philosophy": [
        ("en", "zh", "Hermeneutics teaches us that understanding is never without presuppositions."),
        ("en", "de", "The transcendental unity of apperception grounds the possibility of experience."),
        ("de", "en", "Das Wesen der Wahrheit ist die Freiheit des Seinlassens von Seiendem."),
        ("de", "en", "Die Welt ist alles, was der Fall ist."),
        ("fr", "en", "L'existence précède l'essence, et l'homme est condamné à être libre."),
        ("zh", "en", "道可道，非常道；名可名，非常名。"),
    ],
    "poems": [
        ("en", "fr", "Shall I compare thee to a summer's day? Thou art more lovely and more temperate."),
        ("en", "zh", "Tyger Tyger, burning bright, in the forests of the night."),
        ("de", "en", "Über allen Gipfeln ist Ruh, in allen Wipfeln spürest du kaum einen Hauch."),
        ("fr", "en", "Sous le pont Mirabeau coule la Seine, et nos amours faut-il qu'il m'en souvienne."),
        ("zh", "en", "床前明月光，疑是地上霜。"),
    ],
    "keys hit at random": [
        ("en", "de", "hjkl fdsa uiop rewq vbnm"),
        ("en", "fr", "asdkjh qwelkj zxmnbv poiqwe lkjasd"),
        ("en", "zh", "qqqq wwww ;;;; ---- ertyuiop"),
        ("de", "en", "ölkjh üpoiz äqwert yxcvb"),
        ("fr", "en", "àéè çççç qsdfjk mlkjh azerpoiu"),
        ("zh", "en", "魑魅魍魉饕餮龘靐齉"),
        ("en", "de", "7$%& ((!! 39x zq--"),
    ],
}  # fmt: skip


def main() -> None:
    """Print the counts, and the candidates for a lost negation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", default="configs/tatoeba.toml", help="the run whose test sets are translated")
    test_sets = find_test_sets(load_config(parser.parse_args().config))
    translator = load(device="cpu")
    for kind, lines in OUT_OF_DOMAIN.items():
        found = [
            translation
            for source, target, text in lines
            for translation in translator.translate_detailed([text], from_=source, to=target)
        ]
        print(f"{kind}: {sum(bool(one.warnings) for one in found)} of {len(found)} flagged")
        for one in found:
            print(f"  {'' if one.warnings else 'NOT '}flagged: {one.source} | {one.text}")
    num_flagged = num_lines = 0
    for test_set in test_sets:
        source, target = str(test_set.source_language), str(test_set.target_language)
        found = translator.translate_detailed(read_sentences(test_set).sources, from_=source, to=target)
        num_flagged, num_lines = num_flagged + sum(bool(one.warnings) for one in found), num_lines + len(found)
        negated = [one for one in found if re.search(NEGATIONS[source], one.source, re.IGNORECASE)]
        lost = [one for one in negated if not re.search(NEGATIONS[target], one.text, re.IGNORECASE)]
        print(f"{source}→{target}: {len(negated)} sentences with a negation, {len(lost)} to be looked at")
        for one in lost:
            print(f"  {one.source} | {one.text}")
    print(f"test sets: {num_flagged} of {num_lines} lines flagged")


if __name__ == "__main__":
    main()
