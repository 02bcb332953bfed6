"""`heedful draft`: a drafter for a translator, which then checks several tokens at once."""

from pathlib import Path
from typing import Annotated

import typer

from heedful.cli import options
from heedful.cli.console import note, write_line


def draft(
    config: options.Config,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the model with its drafter is written.")],
    overrides: options.Overrides = None,
    model: Annotated[
        Path | None, typer.Option("--model", "-m", metavar="DIR", help="The translator; by default the bundled one.")
    ] = None,
    sentences: Annotated[
        int, typer.Option("--sentences", metavar="N", min=1, help="How many of each training corpus are translated.")
    ] = 2000,
    epochs: Annotated[float, typer.Option("--epochs", metavar="N", help="How often each is learned from.")] = 3.0,
    guesses: Annotated[
        int, typer.Option("--guesses", metavar="N", min=1, max=32, help="How many tokens ahead it learns to guess.")
    ] = 3,
    device: options.Device = None,
) -> None:
    """Teach a small network to guess what a translator will write.

    The translator translates sources of the training corpora of CONFIG, and the
    network learns to go on from what it computed. OUT is the same model, with
    the network beside it: with --fast the same translations need fewer passes.
    """
    from heedful.config.load import load_config
    from heedful.tasks.translation.drafting import DraftingRules, add_drafter

    accuracy = add_drafter(
        load_config(config, overrides or []).data,
        model,
        out,
        sentences=sentences,
        rules=DraftingRules(epochs=epochs, num_guesses=guesses),
        device=device,
        say=note,
    )
    shares = ", ".join(f"{share:.1%}" for share in accuracy.shares)
    write_line(f"{out}: of guesses held out {shares} were right; {accuracy.tokens_a_pass:.2f} tokens a pass.")
