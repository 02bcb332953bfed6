"""`training.init_from`: a new run that begins where another model is."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.support.commands import Command
from tests.support.small_run import SmallRun

# Steps so small that the weights show where they began.
STILL = [
    "name=tuned",
    "tokenizer.vocab_size=300",
    "training.max_steps=3",
    "training.log_every=1",
    "training.schedule.peak=1e-9",
    "validation.every_steps=3",
    "training.checkpoint.every_steps=3",
]


@pytest.mark.parametrize("given", [".", "model"], ids=["run folder", "model folder"])
def test_a_run_begins_with_the_weights_and_the_tokenizer_it_is_given(
    heedful: Command, small_run: SmallRun, corpus_folder: Path, given: str
) -> None:
    cache = str(corpus_folder / "cache")
    start = f"training.init_from={small_run.run / given}"
    result = heedful("train", "small.toml", start, *STILL, cwd=corpus_folder, HEEDFUL_CACHE=cache)
    assert result.returncode == 0, result.stderr.decode()
    assert f"Taking the tokenizer and the first weights from {small_run.run / 'model'}." in result.stderr.decode()
    tuned = corpus_folder / "runs" / "tuned"
    assert (tuned / "tokenizer.json").read_bytes() == (small_run.run / "tokenizer.json").read_bytes()

    before, after = (load_file(run / "model" / "model.safetensors") for run in (small_run.run, tuned))
    assert before.keys() == after.keys()
    for name, tensor in before.items():
        torch.testing.assert_close(after[name], tensor, atol=1e-6, rtol=0)
    first, untrained = (
        json.loads((run / "metrics.jsonl").read_text().split("\n")[0])["loss"] for run in (tuned, small_run.run)
    )
    assert first < untrained / 2


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            ["model.hidden_dim=256"],
            "`model.hidden_dim` must be 128 as in `training.init_from`, but is 256. "
            "Leave it out to take what that model has.",
        ),
        (["training.init_from=nowhere"], "The model folder nowhere must exist, but does not."),
    ],
    ids=["another shape", "no folder"],
)
def test_what_cannot_be_the_beginning_is_refused_before_a_run_is_made(
    heedful: Command, small_run: SmallRun, corpus_folder: Path, settings: list[str], sentence: str
) -> None:
    start = f"training.init_from={small_run.run}"
    cache = str(corpus_folder / "cache")
    result = heedful("train", "small.toml", start, *STILL, *settings, cwd=corpus_folder, HEEDFUL_CACHE=cache)
    assert result.returncode == 2
    assert result.stderr.decode().endswith(f"error: {sentence}\n")
    assert not (corpus_folder / "runs" / "tuned").exists()
