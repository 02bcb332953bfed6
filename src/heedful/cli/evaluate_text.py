"""What `heedful evaluate` does with a language model: which texts, how they are read, and how the scores are shown."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from heedful.cli.console import flush, note, write_line
from heedful.cli.scoring_options import ScoringRequest
from heedful.errors import UserError

if TYPE_CHECKING:
    from heedful.evaluation.dynamic import Adaptation
    from heedful.tasks.language_modeling.evaluate import TextEvaluation


def evaluate_text(request: ScoringRequest) -> None:
    """Score a language model on its test texts: perplexity and bits per byte."""
    (model,), text, config, against = request.models, request.text, request.config, request.against
    memory, segment, clamp, dynamic = request.memory, request.segment, request.clamp, request.dynamic
    adaptation = None if dynamic is None else parse_dynamic(dynamic)
    if adaptation is not None and against is not None:
        raise UserError("`--dynamic` must be left out with --against: models are compared as they were trained.")
    if text is not None and config is not None and (adaptation is None or adaptation.kind != "rms"):
        raise UserError("`--text` and `--config` must not be given together: both say what to score on.")
    from heedful.tasks.language_modeling.evaluate import TextEvaluation, compare_texts, find_texts, known_text
    from heedful.tasks.language_modeling.model import load_text_model

    texts = find_texts(model, config=config, file=text, split=request.split)
    known = known_text(model, config) if adaptation is not None and adaptation.kind == "rms" else None
    loaded = load_text_model(model, device=request.device, clamp_len=clamp)
    other = None if against is None else load_text_model(against, device=request.device, clamp_len=clamp)
    for each in (loaded,) if other is None else (loaded, other):
        each.check_reach(segment, memory)
    for name, content in texts.items():
        if other is not None:
            evaluation = compare_texts(loaded, other, content, memory_len=memory, segment_len=segment)
        elif adaptation is None:
            evaluation = TextEvaluation(loaded.score(content, memory_len=memory, segment_len=segment))
        else:
            note(f"{name}: learning while reading, at rate {adaptation.rate:g} with decay {adaptation.decay:g}.")
            found = loaded.score_dynamically(
                content, adaptation, training_text=known, memory_len=memory, segment_len=segment
            )
            evaluation = TextEvaluation(found)
        in_json = request.as_json
        write_line(_as_json(name, evaluation, dynamic, against) if in_json else _as_text(name, evaluation, against))
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


def _as_text(name: str, evaluation: "TextEvaluation", against: Path | None) -> str:
    found, it = evaluation.found, evaluation.comparison
    speed = found.num_bytes / max(found.seconds, 1e-9)
    compared = ""
    if it is not None:
        interval = f"[{it.low:+.4f}, {it.high:+.4f}]"
        compared = (
            f"\n  against {against}, by paired bootstrap over stretches of the text:\n"
            f"  bits per byte  {it.baseline:.4f}  difference {it.difference:+.4f}  95 % {interval}  "
            f"p = {it.p_value:.3f}"
        )
    return (
        f"{name}: {found.num_bytes:,} bytes, {found.num_symbols:,} symbols in {found.seconds:.1f} s "
        f"({speed:,.0f} bytes/s)\n"
        f"  bits per byte  {found.bits_per_byte:.4f}\n"
        f"  perplexity     {found.perplexity:.3f} per symbol\n"
        f"  loss           {found.loss:.5f} nats per symbol{compared}"
    )


def _as_json(name: str, evaluation: "TextEvaluation", dynamic: str | None, against: Path | None) -> str:
    found = evaluation.found
    fields: dict[str, object] = {
        "split": name,
        "bytes": found.num_bytes,
        "symbols": found.num_symbols,
        "bits_per_byte": found.bits_per_byte,
        "perplexity": found.perplexity,
        "loss": found.loss,
        "dynamic": dynamic,
        "seconds": round(found.seconds, 3),
    }
    if evaluation.comparison is not None:
        fields |= {"against": str(against), "comparisons": [{"name": "bits per byte", **asdict(evaluation.comparison)}]}
    return json.dumps(fields)
