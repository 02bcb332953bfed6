"""`heedful explain` as a process, and traces along a real run."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from heedful.errors import UserError
from heedful.insight.checkpoint_traces import trace_checkpoints
from heedful.tasks.translation.load import load_translator
from tests.support.commands import Command
from tests.support.small_run import SmallRun


def test_it_writes_one_page(heedful: Command, small_run: SmallRun, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    result = heedful("explain", "ten houses", "--model", small_run.run, "--out", out)
    assert (result.returncode, result.stdout) == (0, b"")
    translation = load_translator(small_run.run).translate("ten houses")
    assert result.stderr.decode().startswith(f"{translation}\nWritten to ")
    page = out.read_text(encoding="utf-8")
    (held,) = re.findall(r'<script type="application/json" id="trace">(.*?)</script>', page, re.DOTALL)
    payload = json.loads(held)
    assert payload["target"]["text"] == translation
    assert np.shape(payload["attribution"]) == (len(payload["target"]["tokens"]), len(payload["source"]["tokens"]))
    assert payload["headChanges"].keys() == {"encoder", "decoder", "cross"}


def test_it_never_overwrites_and_refuses_in_sentences(heedful: Command, small_run: SmallRun, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    out.write_text("mine")
    result = heedful("explain", "ten houses", "--model", small_run.run, "--out", out)
    assert result.returncode == 2
    assert result.stderr.decode().endswith("must not exist yet, but does. Choose another, or remove it.\n")
    assert out.read_text() == "mine"
    result = heedful("explain", "", "--model", small_run.run, "--out", tmp_path / "other.html")
    assert (result.returncode, result.stderr) == (2, b"error: The text to look into must not be empty, but is.\n")
    assert not (tmp_path / "other.html").exists()


def test_checkpoints_of_a_run_are_traced_alike(small_run: SmallRun) -> None:
    found = list(trace_checkpoints(small_run.run, "ten houses", hypothesis="zehn häuser"))
    assert [one.step for one in found] == [120, 240]
    first, last = (one.trace for one in found)
    assert first.tokens == last.tokens
    assert last.log_prob > first.log_prob  # it was learning
    assert not np.array_equal(first.weights["cross"], last.weights["cross"])
    (searched,) = trace_checkpoints(small_run.run, "ten houses", steps=[240])
    # The model that was shipped is this one checkpoint.
    assert searched.trace.text == load_translator(small_run.run, quantize="none").translate("ten houses")


def test_checkpoints_that_are_not_there_are_refused(small_run: SmallRun, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has no checkpoint of step 7, only 120, 240"):
        next(trace_checkpoints(small_run.run, "ten houses", steps=[7]))
    with pytest.raises(UserError, match=r"must be the folder of a run, but has no config\.toml"):
        next(trace_checkpoints(tmp_path, "ten houses"))
