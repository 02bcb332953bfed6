"""Technical text of projects that no bundled model has learned from: sacreBLEU in six directions, model beside model.

    .venv/bin/python benchmarks/technical_text.py FOLDER bundled OTHER_MODEL --lines 60

FOLDER has `PROJECT.en-LANG.tsv.xz`, English first. The projects are under the GPL or the GFDL, and the bundled models
learned from neither: QGIS, GIMP, Debian's installation guide and phpMyAdmin. Lines are drawn by a fixed seed, as many
of each project.
"""

import argparse
import random
from pathlib import Path

import sacrebleu

import heedful
from heedful.config.data import TsvCorpus
from heedful.data.readers import read_parallel

PROJECTS = ("qgis-docs", "gimp-help", "debian-install-guide", "phpmyadmin-docs")


def drawn(folder: Path, language: str, count: int) -> tuple[list[str], list[str]]:
    """Return English lines and their translations, as many of each project."""
    sides: tuple[list[str], list[str]] = ([], [])
    for project in PROJECTS:
        corpus = TsvCorpus(kind="tsv", path=str(folder / f"{project}.en-{language}.tsv.xz"))
        rows = random.Random(1).sample(list(zip(*read_parallel(corpus), strict=True)), count)
        for side, texts in zip(sides, zip(*rows, strict=True), strict=True):
            side += texts
    return sides


def main() -> None:
    """Translate, score and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--lines", type=int, default=60, help="of each project")
    options = parser.parse_args()
    models = [heedful.load(name) for name in options.models]
    print(f"{'':<10}" + "".join(f"{name[-24:]:>26}" for name in options.models))
    for language in ("de", "fr", "zh"):
        english, other = drawn(options.folder, language, options.lines)
        for source, target, to in ((english, other, language), (other, english, "en")):
            tokenize = "zh" if to == "zh" else "13a"
            scores = [
                sacrebleu.corpus_bleu(model.translate(source, to=to), [target], tokenize=tokenize).score
                for model in models
            ]
            print(f"into {to:<5}" + "".join(f"{score:>26.1f}" for score in scores), flush=True)


if __name__ == "__main__":
    main()
