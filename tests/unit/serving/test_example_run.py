"""The run that ships with the package is whole, small, and can be looked into at every checkpoint."""

from importlib import resources
from pathlib import Path

import torch

from heedful.insight.checkpoint_traces import load_checkpoint_translator
from heedful.insight.trace import trace_translation
from heedful.serving.limits import Limits
from heedful.serving.runs import EXAMPLE_ID, JournalReader, Runs

FOLDER = Path(str(resources.files("heedful") / "assets" / "example_run"))


def test_the_example_has_curves_samples_and_checkpoints() -> None:
    run = Runs([], None, Limits()).find(EXAMPLE_ID)
    facts = run.facts()
    assert (facts["steps"], facts["maxSteps"], facts["isRunning"]) == (6000, 6000, False)
    assert (facts["task"], facts["source"], facts["target"]) == ("translation", "en", "de")
    assert facts["checkpoints"] == [250, 500, 1250, 2750, 6000]
    journal = JournalReader(run, 0, 0, Limits()).read()
    assert {row["kind"] for row in journal["metrics"]} == {"train", "validation"}
    assert {row["step"] for row in journal["samples"]} >= set(facts["checkpoints"])


def test_it_is_small_and_says_where_its_sentences_come_from() -> None:
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) <= 4_500_000
    card = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert all(name in card for name in ("tatoeba.org", "manythings.org", "CC BY 2.0 FR"))


def test_it_learns_from_checkpoint_to_checkpoint() -> None:
    log_probs = []
    for step in (250, 500, 1250, 2750, 6000):
        translator = load_checkpoint_translator(FOLDER, step, device=torch.device("cpu"))
        trace = trace_translation(translator, *translator.plan(["I am ready."]), hypothesis="Ich bin bereit.")
        log_probs.append(trace.log_prob)
    assert log_probs[0] == min(log_probs)
    assert log_probs[-1] > log_probs[0] + 1
    assert translator.translate("Where is Tom?") == "Wo ist Tom?"
