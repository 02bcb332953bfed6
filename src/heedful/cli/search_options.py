"""Options of `heedful translate` that say how a translation is searched for."""

from pathlib import Path
from typing import Annotated, Literal

import typer

SourceLanguage = Annotated[
    str | None,
    typer.Option("--from", metavar="LANG", help="Language of the text; by default detected, line by line."),
]
TargetLanguage = Annotated[
    str | None, typer.Option("--to", metavar="LANG", help="Language wanted; need not be said if there is one.")
]
NBest = Annotated[
    int, typer.Option("--n-best", metavar="N", min=1, help="Translations per line; more than 1 needs --json.")
]
LengthPenalty = Annotated[
    float | None, typer.Option("--length-penalty", metavar="A", help="Above 0 favours longer translations.")
]
Prefix = Annotated[str, typer.Option("--prefix", metavar="TEXT", help="What every translation begins with.")]
Sample = Annotated[bool, typer.Option("--sample", help="Draw translations instead of searching the best.")]
Temperature = Annotated[float | None, typer.Option("--temperature", metavar="T", help="Below 1 surer, above 1 bolder.")]
TopK = Annotated[int | None, typer.Option("--top-k", metavar="K", help="Draw from the K likeliest tokens only.")]
TopP = Annotated[
    float | None, typer.Option("--top-p", metavar="P", help="Draw from the fewest tokens with probability P.")
]
Seed = Annotated[int | None, typer.Option("--seed", metavar="S", help="The same seed draws the same translation.")]
Diverse = Annotated[
    int | None, typer.Option("--diverse", metavar="N", min=2, help="N translations that differ; needs --json.")
]
LeastRisk = Annotated[
    int | None,
    typer.Option("--mbr", metavar="N", min=2, help="Of N candidates, or samples, what is most like all others."),
]
Register = Annotated[
    str | None,
    typer.Option("--register", metavar="NAME", help="Kind of language, as formal, where the model has learned any."),
]
WordLinks = Annotated[
    Literal["pharaoh", "json"] | None,
    typer.Option("--alignment", help="Also which words became which: after |||, or with --json."),
]
Check = Annotated[
    bool, typer.Option("--check", help="Ask the model about what it wrote: finds what was left out or added; slower.")
]
GlossaryFile = Annotated[
    Path | None,
    typer.Option("--glossary", metavar="FILE", help="Terms: lines of SOURCE, tab, TARGET, tab, further forms."),
]
RescoreWith = Annotated[
    Path | None,
    typer.Option(
        "--rescore-with", metavar="DIR", help="Who chooses among outputs of a model with fertilities: its teacher."
    ),
]
Samples = Annotated[
    int | None, typer.Option("--samples", metavar="N", min=1, help="Fertilities drawn for --rescore-with; 10.")
]
