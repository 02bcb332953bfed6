"""What is lost when sentences are given together: BLEU of k test sentences in a line, beside the same one by one.

    python benchmarks/paragraphs.py [--config configs/tatoeba.toml] [--counts 1 5]

The sentences of every test set of the config are joined k at a time, translated by the bundled model as
`heedful translate` does it, and, for comparison, each line whole. Whatever was given together, BLEU is taken over the
same lines of as many sentences as the last count, so that the figures of a row can be compared.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace

from heedful import load
from heedful.config.load import load_config
from heedful.evaluation.scores import bleu, tokenizer_of
from heedful.tasks.translation.plan import join_parts
from heedful.tasks.translation.test_sets import find_test_sets, read_sentences


def main() -> None:
    """Print a row for each direction."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", default="configs/tatoeba.toml", help="the run whose test sets are translated")
    parser.add_argument("--counts", type=int, nargs="+", default=[1, 5], help="each divides the last")
    options = parser.parse_args()
    translator = load(device="cpu")
    traits = replace(translator.traits, joined_tokens=translator.max_source_tokens())
    whole = replace(translator, traits=traits)  # as if it had learned paragraphs
    together = options.counts[-1]
    print("direction  lines  " + "  ".join(f"k = {count}" for count in options.counts))
    for test_set in find_test_sets(load_config(options.config)):
        sentences = read_sentences(test_set)
        source, target = str(test_set.source_language), str(test_set.target_language)
        references = joined([texts[0] for texts in sentences.references], together)
        for name, model in (("cut", translator), ("whole", whole)):
            scores = []
            for count in options.counts:
                lines = model.translate(joined(sentences.sources, count), from_=source, to=target)
                scores.append(bleu(joined(lines, together // count), references, tokenize=tokenizer_of(target)))
            print(f"{source} → {target}    {name:6} " + "  ".join(f"{score:5.1f}" for score in scores), flush=True)


def joined(lines: Sequence[str], count: int) -> list[str]:
    """Put `count` lines at a time into one."""
    return [join_parts(lines[start : start + count]) for start in range(0, len(lines), count)]


if __name__ == "__main__":
    main()
