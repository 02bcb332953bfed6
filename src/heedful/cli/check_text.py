"""What `heedful check` does with a language model's run: what is looked at, and how it is shown."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from heedful.cli.check_lines import cost_lines, finding_lines

if TYPE_CHECKING:
    from heedful.config.language_modeling import LanguageModelRun
    from heedful.tasks.language_modeling.doctor import TextExamination
    from heedful.tasks.trial_step import Trial


def check_text(
    run: "LanguageModelRun", *, per_second: float | None, device: str | None, as_json: bool
) -> tuple[Sequence[str], bool]:
    """Return what there is to say, and whether training would be refused."""
    from heedful.corpora.fetch import in_words
    from heedful.tasks.language_modeling.doctor import examine_texts
    from heedful.tasks.language_modeling.train import find_symbols
    from heedful.tasks.run_folder import run_folder_of
    from heedful.tasks.trial_step import try_text

    folder = run_folder_of(run)
    found = examine_texts(
        run, symbols_of=lambda text: find_symbols(run, folder, text, lambda _: None), in_words=in_words
    )
    trial = None
    if found.vocab_size is not None and not found.has_errors:
        trial = try_text(run, vocab_size=found.vocab_size, device=device)
    seconds = None
    if trial is not None and found.estimate is not None:
        seconds = found.estimate.num_run_symbols / (per_second or trial.tokens_per_second)
    if as_json:
        fields = {**asdict(found), "trial": None if trial is None else asdict(trial), "seconds": seconds}
        return [json.dumps(fields, ensure_ascii=False)], found.has_errors
    return _as_text(run, found, trial, seconds), found.has_errors


def _as_text(
    run: "LanguageModelRun", found: "TextExamination", trial: "Trial | None", seconds: float | None
) -> list[str]:
    lines = []
    for text in found.texts:
        symbols = "" if text.num_symbols is None else f", {text.num_symbols:,} symbols"
        lines.append(f"{text.setting}  {text.num_bytes:,} bytes{symbols}  {' + '.join(text.files)}")
    cost = found.estimate
    if cost is not None and trial is not None:
        segment_len = run.training.segment_len
        lines += [
            "",
            f"vocabulary  {found.vocab_size:,} symbols",
            f"epoch       {cost.num_segments:,} steps of {cost.num_streams:,} segments side by side, "
            f"{segment_len:,} symbols each",
            f"run         {cost.num_epochs:,.1f} epochs",
            *cost_lines(trial, f"a batch ({cost.num_streams} rows, {segment_len} symbols)", seconds=seconds),
        ]
    return [*lines, *finding_lines(found.findings)]
