"""`heedful demo`: what the bundled models can do, or, with --train, a small model trained before your eyes."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli.console import flush, note, write_line
from heedful.cli.demo_display import Page, make_page
from heedful.errors import UserError, count_of

if TYPE_CHECKING:
    from heedful.demo.bundled import Demonstration
    from heedful.demo.training import DemoResult
    from heedful.tasks.translation.translated import Translation

_NUM_SHOWN = 8


def demo(
    train: Annotated[
        bool, typer.Option("--train", help="Train a small model on a generated corpus instead: about a minute.")
    ] = False,
    runs: Annotated[
        Path | None,
        typer.Option("--runs", metavar="DIR", help="With --train: folder for the corpus and the run, runs by default."),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option("--steps", metavar="N", min=1, help="With --train: training steps; fewer are quicker and worse."),
    ] = None,
) -> None:
    """Show the models that ship with the package.

    Sentences and whole texts in all six directions, with scores, alternatives,
    what the translator is unsure about, and text it is not made for; then a
    label and a text written on. Needs no download.
    """
    if train:
        _train(Path("runs") if runs is None else runs, steps)
        return
    for option, value in (("--runs", runs), ("--steps", steps)):
        if value is not None:
            raise UserError(f"`{option}` must go with --train: the bundled model is trained already.")
    from heedful.demo.bundled import demonstrate

    _show(demonstrate(say=note))


def _show(shown: "Demonstration") -> None:
    """Put everything on a page, what the model can do first."""
    from heedful.storage.locate import bundled_models

    page = make_page()
    page.heading("The translator that ships with Heedful")
    page.say(
        "One small model translates between English and German, French and Chinese: six directions in "
        f"{shown.num_bytes / 1e6:.0f} MB. It loaded in {shown.load_seconds:.1f} s, and nothing leaves this machine."
    )
    _show_everyday(page, shown.everyday)
    _show_texts(page, shown)
    _show_doubts(page, shown)
    _show_others(page, shown)
    page.heading("Next")
    page.commands(
        [
            ("your own sentences; the language they are in is detected", 'heedful translate --to de "How are you?"'),
            ("a file, one line in, one line out", "heedful translate --to en < letters.txt"),
            (
                "everything shown here, for programs",
                'heedful translate --to fr --json --n-best 5 "Are you tired?"',
            ),
            (
                "a label, and for programs the words that moved it",
                'heedful classify "The story is slow at first, but the actors are wonderful."',
            ),
            ("a text written on", 'heedful generate "The city was founded in" --temperature 0.7'),
            ("see every head and every step of all three in a browser", "heedful serve"),
            ("how good it is: fetch the test sentences, then score", "heedful data tatoeba"),
            ("", "heedful evaluate --config configs/tatoeba.toml"),
            ("train a small model before your eyes, in about a minute", "heedful demo --train"),
            ("train a real one on 29,000 pairs, best on a GPU", "heedful data multi30k"),
            ("", "heedful train configs/multi30k_ende.toml"),
        ]
    )
    page.heading("More about the models")
    page.say("What each is good for, how good it is, and how it was made, stands in its model card:")
    for folder in bundled_models().values():
        page.say(str(folder / "README.md"))


def _show_everyday(page: Page, translations: "Sequence[Translation]") -> None:
    from heedful.demo.bundled import LANGUAGES, confidence

    page.heading("Everyday sentences, in all six directions")
    page.say(
        "First the confidence, which is the probability of a token, averaged over the sentence; then the score, by "
        "which translations of a sentence are ranked (the nearer to 0, the better)."
    )
    by_direction: dict[str, list[Translation]] = {}
    for it in translations:
        title = f"{LANGUAGES[it.source_language or 'en']} → {LANGUAGES[it.target_language or 'en']}"
        by_direction.setdefault(title, []).append(it)
    for title, found in by_direction.items():
        page.translations(title, [(confidence(it.alternatives[0]), it.score, it.source, it.text) for it in found])


def _show_texts(page: Page, shown: "Demonstration") -> None:
    """Show whole texts: each in English once, then what became of it and of its other versions."""
    from heedful.demo.bundled import LANGUAGES

    page.heading("Whole texts")
    page.say(
        "A letter, a piece of news and a technical text, as the model has them: mistakes are left in, doubts said."
    )
    for name, translations in shown.texts.items():
        page.texts(
            name,
            [
                (LANGUAGES["en"], translations[0].source),
                *(row for it in translations[:3] for row in _rows(f"into {LANGUAGES[it.target_language or '']}", it)),
                *(row for it in translations[3:] for row in _rows(f"from {LANGUAGES[it.source_language or '']}", it)),
            ],
        )


def _rows(title: str, translation: "Translation") -> Iterator[tuple[str, str]]:
    yield title, translation.text
    yield from (("warning", warning.message) for warning in translation.warnings)


def _show_others(page: Page, shown: "Demonstration") -> None:
    """Show the other two models at work."""
    page.heading("A label")
    page.say("A small Transformer has read film reviews, and says whether a text is positive or negative:")
    page.texts("", [(f"{it.label} {it.probability or 0:.0%}", it.text) for it in shown.labelled])
    page.heading("A text written on")
    page.say("A small Transformer-XL has read an encyclopedia. It writes sentences; what they say is made up:")
    page.texts("", [(shown.beginning + " …", shown.written)])


def _show_doubts(page: Page, shown: "Demonstration") -> None:
    """Show what else could be said, what is uncertain, and what the model is not made for."""
    from heedful.demo.bundled import words_of

    page.heading("Alternatives")
    page.say(
        f"“{shown.ambiguous.source}” does not say who is asked: a friend or a stranger, a man or a woman, one person "
        "or several. French has to choose. Here are the best candidates, with the probability of each:"
    )
    page.alternatives([(math.exp(it.log_prob), it.score, it.text) for it in shown.ambiguous.alternatives])
    page.heading("What it is unsure about")
    page.say("Every word comes with its probability. Low ones are where to look twice:")
    for translation in shown.hard:
        page.words(translation.source, words_of(translation.alternatives[0]))
    page.heading("Text it was not made for")
    page.say(
        "A contract, nonsense verse or random keys are beyond it. It does not always notice; here it does, and says so:"
    )
    for translation in shown.out_of_domain:
        page.doubtful(translation.source, translation.text, [warning.message for warning in translation.warnings])


def _train(runs: Path, steps: int | None) -> None:
    write_line("Heedful demo: dates, times and amounts in words, from English into German.")
    import torch

    from heedful.demo.training import demo_config, run_demo
    from heedful.training.display import make_display

    # So small a model gains nothing from a second thread, and on a busy machine threads would wait for each other.
    torch.set_num_threads(1)
    config = demo_config(runs, steps)
    write_line(
        f"The corpus is made by rule, in {config.runs_folder}/demo-corpus; 300 of its lines are kept from the model."
    )
    write_line(f"Training {config.training.max_steps:,} steps, less than a minute on a free core ...")
    flush()
    with make_display(config.training.max_steps) as display:
        result = run_demo(config, display=display)
    _show_training(result)


def _show_training(result: "DemoResult") -> None:
    # The longest and therefore hardest lines come first among those shown, mistakes before everything.
    hardest = sorted(result.pairs, key=lambda pair: (pair.is_exact, -len(pair.source)))
    mistakes = [pair for pair in hardest if not pair.is_exact][:2]
    right = [pair for pair in result.pairs if pair.is_exact][: _NUM_SHOWN - len(mistakes)]
    make_page().pairs([*right, *mistakes])
    run = result.run_folder
    share = result.num_exact / len(result.pairs)
    write_line(f"Exactly right: {result.num_exact} of {count_of(len(result.pairs), 'unseen line')} ({share:.1%}).")
    write_line("")
    write_line(f"The model is in {run}/model, how it was trained in {run}. Next:")
    write_line(f"  echo 'on friday at half past seven' | heedful translate --model {run}")
    write_line(f"  heedful evaluate {run} --split unseen")
    write_line("  heedful train configs/demo.toml name=mine training.max_steps=2000")
