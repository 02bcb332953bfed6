"""What is lost when sentences are given together: BLEU of k test sentences in a line, beside the same one by one.

    python benchmarks/paragraphs.py [--config configs/tatoeba.toml] [--counts 1 2 3 4 5 6 7 8] [--sentences 840]

Sentences of every test set of the config, drawn with a seed, are joined k at a time and translated by the bundled model
as `heedful translate` does it ("together"), one by one ("single"), and, for comparison, each line whole ("whole").
BLEU is taken over the same lines of k sentences each time: BLEU of longer lines is higher whatever is translated, so
"together" is to be compared with "single" of its own column. The last row is the largest difference of any column.
"""

import argparse
import random
from collections.abc import Sequence
from dataclasses import replace

from heedful import load
from heedful.config.load import load_config
from heedful.evaluation.scores import bleu, tokenizer_of
from heedful.tasks.translation.plan import join_parts
from heedful.tasks.translation.test_sets import TestSet, find_test_sets, read_sentences
from heedful.tasks.translation.translator import Translator


def main() -> None:
    """Print three rows for each direction, and the largest difference of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", default="configs/tatoeba.toml", help="the run whose test sets are translated")
    parser.add_argument("--counts", type=int, nargs="+", default=list(range(1, 9)), help="sentences in a line")
    parser.add_argument("--whole", type=int, nargs="*", default=[1, 3, 5], help="counts that are translated whole too")
    parser.add_argument("--sentences", type=int, default=840, help="of each direction; 840 is divided by 1 to 8")
    options = parser.parse_args()
    translator = load(device="cpu")
    print("direction  way       " + "  ".join(f"k = {count}" for count in options.counts))
    largest = 0.0
    for test_set in find_test_sets(load_config(options.config)):
        largest = max(largest, _measure(translator, test_set, options))
    print(f"largest difference between together and single: {largest:.2f} BLEU")


def _measure(translator: Translator, test_set: TestSet, options: argparse.Namespace) -> float:
    """Print the rows of a direction, and return the largest difference between given together and one by one."""
    source, target = str(test_set.source_language), str(test_set.target_language)
    sentences = read_sentences(test_set)
    pairs = [(text, answers[0]) for text, answers in zip(sentences.sources, sentences.references, strict=True)]
    random.Random(1).shuffle(pairs)
    sources, references = zip(*pairs[: options.sentences], strict=True)
    traits = replace(translator.traits, joined_tokens=translator.max_source_tokens())
    models = {"single": translator, "together": translator, "whole": replace(translator, traits=traits)}
    one_by_one = translator.translate(list(sources), from_=source, to=target)
    scores: dict[str, dict[int, float]] = {name: {} for name in models}
    for count in options.counts:
        right = joined(references, count)
        for name, model in models.items():
            if name == "whole" and count not in options.whole:
                continue
            lines = (
                joined(one_by_one, count)
                if name == "single"
                else model.translate(joined(sources, count), from_=source, to=target)
            )
            scores[name][count] = bleu(lines, right, tokenize=tokenizer_of(target))
    for name, row in scores.items():
        cells = "  ".join(f"{row[count]:5.1f}" if count in row else "    -" for count in options.counts)
        print(f"{source} → {target}    {name:9} {cells}", flush=True)
    return max(abs(scores["together"][count] - scores["single"][count]) for count in options.counts)


def joined(lines: Sequence[str], count: int) -> list[str]:
    """Put `count` lines at a time into one."""
    return [join_parts(lines[start : start + count]) for start in range(0, len(lines), count)]


if __name__ == "__main__":
    main()
