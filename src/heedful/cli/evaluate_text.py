"""What `heedful evaluate` does with a language model: which texts, how they are read, and how the scores are shown."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from heedful.cli.console import flush, note, write_line
from heedful.errors import UserError

if TYPE_CHECKING:
    from heedful.evaluation.dynamic import Adaptation
    from heedful.evaluation.likelihood import Likelihood


def is_language_model(model: Path) -> bool:
    """Tell whether a model or run folder holds a language model."""
    from heedful.models.folder_files import task_of
    from heedful.tasks.folders import find_model_folder

    return task_of(find_model_folder(model)) == "language_modeling"


class Reading(NamedTuple):
    """Which text is read and how: what the options say that only language models understand."""

    text: Path | None
    memory: int | None
    segment: int | None
    clamp: int | None
    dynamic: str | None

    def refuse(self) -> None:
        """Raise when any of them is given: the model is none that reads texts."""
        given = next((name for name, value in self._asdict().items() if value is not None), None)
        if given is not None:
            raise UserError(f"`--{given}` must be used with a language model, but this model is none.")


def evaluate_text(
    model: Path,
    reading: Reading,
    *,
    config: Path | None,
    split: str | None,
    as_json: bool,
    device: str | None,
) -> None:
    """Score a language model on its test texts: perplexity and bits per byte."""
    text, memory, segment, clamp, dynamic = reading
    adaptation = None if dynamic is None else parse_dynamic(dynamic)
    from heedful.tasks.evaluate_text import find_texts, known_text
    from heedful.tasks.language_modeling import load_text_model

    texts = find_texts(model, config=config, file=text, split=split)
    known = known_text(model, config) if adaptation is not None and adaptation.kind == "rms" else None
    loaded = load_text_model(model, device=device, clamp_len=clamp)
    for name, content in texts.items():
        if adaptation is None:
            found = loaded.score(content, memory_len=memory, segment_len=segment)
        else:
            note(f"{name}: learning while reading, at rate {adaptation.rate:g} with decay {adaptation.decay:g}.")
            found = loaded.score_dynamically(
                content, adaptation, training_text=known, memory_len=memory, segment_len=segment
            )
        write_line(_as_json(name, found, dynamic) if as_json else _as_text(name, found))
        flush()


def parse_dynamic(written: str) -> "Adaptation":
    """Read KIND, KIND,RATE or KIND,RATE,DECAY."""
    from heedful.evaluation.dynamic import Adaptation

    kind, *numbers = written.split(",")
    try:
        values = [float(number) for number in numbers]
    except ValueError:
        values = [-1.0]
    if kind not in ("sgd", "rms") or len(values) > 2 or any(not 0 <= value < 1e6 for value in values):
        raise UserError(f'`--dynamic` must be rms or sgd, or like rms,2e-5,1e-3 (rate, decay), but is "{written}".')
    defaults = Adaptation() if kind == "rms" else Adaptation("sgd", rate=1e-3, decay=1e-3)
    rate, decay = [*values, *(defaults.rate, defaults.decay)[len(values) :]]
    return Adaptation(cast(Literal["sgd", "rms"], kind), rate=rate, decay=decay)


def _as_text(name: str, found: "Likelihood") -> str:
    speed = found.num_bytes / max(found.seconds, 1e-9)
    return (
        f"{name}: {found.num_bytes:,} bytes, {found.num_symbols:,} symbols in {found.seconds:.1f} s "
        f"({speed:,.0f} bytes/s)\n"
        f"  bits per byte  {found.bits_per_byte:.4f}\n"
        f"  perplexity     {found.perplexity:.3f} per symbol\n"
        f"  loss           {found.loss:.5f} nats per symbol"
    )


def _as_json(name: str, found: "Likelihood", dynamic: str | None) -> str:
    fields = {
        "split": name,
        "bytes": found.num_bytes,
        "symbols": found.num_symbols,
        "bits_per_byte": found.bits_per_byte,
        "perplexity": found.perplexity,
        "loss": found.loss,
        "dynamic": dynamic,
        "seconds": round(found.seconds, 3),
    }
    return json.dumps(fields)
