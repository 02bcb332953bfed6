"""`heedful generate`: a language model writes a text on, and one reads along."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from heedful.cli import options
from heedful.cli.console import flush, is_terminal, open_stdin, write_bytes


def generate(
    prompt: Annotated[
        str | None,
        typer.Argument(metavar="PROMPT", help="The beginning of the text; - reads it from stdin; without it, none."),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            "--model",
            "-m",
            metavar="DIR",
            help="A model folder, or a run folder, of a language model; or bundled, the default.",
        ),
    ] = None,
    max_tokens: Annotated[
        int, typer.Option("--max-tokens", metavar="N", min=1, help="Symbols to write: bytes, or pieces.")
    ] = 200,
    temperature: Annotated[
        float,
        typer.Option(
            "--temperature",
            metavar="T",
            min=0.0,
            help="1: as the model has it; below surer, above bolder; 0: likeliest.",
        ),
    ] = 0.8,
    top_k: Annotated[
        int | None, typer.Option("--top-k", metavar="K", min=1, help="Draw from the K likeliest symbols only.")
    ] = None,
    top_p: Annotated[
        float | None,
        typer.Option("--top-p", metavar="P", help="Draw from the fewest symbols that have probability P together."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="S", min=0, help="The same seed gives the same text.")
    ] = None,
    memory: Annotated[
        int | None,
        typer.Option("--memory", metavar="N", min=0, help="Positions to remember; by default as in training."),
    ] = None,
    device: options.Device = None,
) -> None:
    """Write a text on, and show it as it comes.

    What is written goes to stdout, without the prompt, exactly as the model
    has it: of a model of bytes these are bytes. The model keeps what it has
    read, so a symbol costs the same however long the text gets.
    """
    from heedful.tasks.language_modeling.model import load_text_model

    text = open_stdin().read() if prompt == "-" else (prompt or "").encode("utf-8", errors="surrogateescape")
    writer = load_text_model(model, device=device)
    writer.check_reach(None, memory)
    pieces = writer.generate(
        text,
        max_tokens=max_tokens,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        seed=options.any_seed() if seed is None else seed,
        memory_len=memory,
    )
    for piece in pieces:
        write_bytes(piece)
        flush()
    if is_terminal(sys.stdout):
        write_bytes(b"\n")
