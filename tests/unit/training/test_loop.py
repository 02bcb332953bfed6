import dataclasses
import errno
import fcntl
import itertools
import math
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Never

import pytest
from torch import nn

from heedful.errors import HeedfulError, UserError
from heedful.training.durability.checkpoint import list_checkpoints
from heedful.training.durability.interruption import Interruption, TrainingInterruptedError
from heedful.training.durability.journal import Journal
from heedful.training.durability.run_lock import RunLock, is_locked
from heedful.training.job import Validation
from heedful.training.loop import train, weights_sha256
from heedful.training.losses.loss_module import LossSum
from tests.support.jobs import FunctionJob, FunctionLoss


def curve(made: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """All that a resumed run must reproduce: every record without its timing, and the samples."""
    records = Journal(made.run.folder / "metrics.jsonl").records()
    return [{key: value for key, value in record.items() if key != "timing"} for record in records], Journal(
        made.run.folder / "samples.jsonl"
    ).records()


def outcome(made: Any) -> tuple[str, Any, dict[int, float]]:
    train(made.state, made.job, made.run)
    return weights_sha256(made.state.model), curve(made), made.state.scores


def stop_after(made: Any, step: int) -> FunctionJob[Any]:
    """Make the run be interrupted once `step` is done, as a signal would."""

    def batches_from(position: int) -> Iterator[Any]:
        for number, batch in enumerate(made.job.batches_from(position), start=position):
            if number == step * made.run.training.accumulate - 1:
                os.kill(os.getpid(), signal.SIGTERM)
            yield batch

    return dataclasses.replace(made.job, batches_from=batches_from)


def test_a_run_writes_its_journal_and_keeps_its_checkpoints(small: Callable[..., Any]) -> None:
    made = small()
    train(made.state, made.job, made.run)
    records, samples = curve(made)
    assert [(record["step"], record["kind"]) for record in records] == [
        (2, "train"), (4, "train"), (6, "train"), (6, "validation"),
        (8, "train"), (10, "train"), (12, "train"), (12, "validation"),
    ]  # fmt: skip
    assert set(records[0]) == {"step", "kind", "loss", "error", "gradient_norm", "learning_rate", "skipped"}
    assert records[-2]["loss"] < records[0]["loss"]
    assert [sample["step"] for sample in samples] == [6, 12]
    assert set(made.heard.shown[0]["timing"]) == {"seconds", "tokens_per_second", "seconds_left"}
    assert list(list_checkpoints(made.run.checkpoints)) == [4, 8, 12]


@pytest.mark.parametrize("options", [{}, {"accumulate": 3, "clip_norm": 0.5, "ema_decay": 0.9}], ids=["plain", "all"])
def test_stopped_at_every_step_and_resumed_it_ends_the_same(small: Callable[..., Any], options: dict[str, Any]) -> None:
    expected = outcome(small("whole", **options))
    for step in range(1, 12):
        made = small(f"stop{step}", **options)
        with pytest.raises(TrainingInterruptedError) as caught:
            train(made.state, stop_after(made, step), made.run)
        assert caught.value.exit_code == 143
        assert str(caught.value) == f"Stopped by SIGTERM after step {step}, which is saved. Go on with --resume."
        again = small(f"stop{step}", **options)
        assert outcome(again) == expected
        assert again.said == [f"Going on after step {step}."]


def test_stopped_after_every_single_step_it_ends_the_same(small: Callable[..., Any]) -> None:
    expected = outcome(small("whole"))
    for step in range(1, 13):
        made = small("stops")
        if step == 12:
            break
        with pytest.raises(TrainingInterruptedError):
            train(made.state, stop_after(made, step), made.run)
    assert outcome(made) == expected


def test_the_first_steps_can_minimise_another_loss_and_a_resumed_run_knows_which(small: Callable[..., Any]) -> None:
    minimised = []
    squared_error = small().job.loss.function

    def noting(name: str, factor: float) -> Callable[..., Any]:
        def loss(model: nn.Module, batch: Any) -> LossSum:
            minimised.append(name)
            plain = squared_error(model, batch)
            return plain._replace(loss_sum=factor * plain.loss_sum)

        return loss

    def make(folder: str) -> Any:
        made = small(folder)
        loss = FunctionLoss(made.state.model, noting("late", 1.0), early=noting("early", -1.0), early_steps=5)
        made.job = dataclasses.replace(made.job, loss=loss)
        return made

    expected = outcome(make("whole"))
    assert minimised == ["early"] * 5 + ["late"] * 7
    assert expected != outcome(small("plain"))
    for step in (3, 5, 7):
        minimised.clear()
        made = make(f"stop{step}")
        with pytest.raises(TrainingInterruptedError):
            train(made.state, stop_after(made, step), made.run)
        assert outcome(make(f"stop{step}")) == expected
        assert minimised == ["early"] * 5 + ["late"] * 7


def test_a_finished_run_stays_as_it_is(small: Callable[..., Any]) -> None:
    expected = outcome(small())
    again = small()
    assert outcome(again) == expected
    assert again.said == ["Going on after step 12."]


def test_a_damaged_checkpoint_costs_steps_but_not_exactness(small: Callable[..., Any]) -> None:
    expected = outcome(small())
    newest = list(list_checkpoints(small().run.checkpoints).values())[-1]
    (newest / "model.safetensors").write_bytes(b"torn")
    again = small()
    assert outcome(again) == expected
    assert again.said[0].startswith("The checkpoint step-00000012 is damaged and passed over: ")
    assert again.said[1] == "Going on after step 8."


def test_a_torn_last_line_of_the_journal_is_dropped(small: Callable[..., Any]) -> None:
    expected = outcome(small("whole"))
    made = small("torn")
    with pytest.raises(TrainingInterruptedError):
        train(made.state, stop_after(made, 7), made.run)
    with (made.run.folder / "metrics.jsonl").open("ab") as stream:
        stream.write(b'{"step": 8, "kind": "tr')
    assert outcome(small("torn")) == expected


def test_five_steps_in_a_row_that_are_not_finite_stop_the_run(small: Callable[..., Any]) -> None:
    made = small()

    def poisoned(model: nn.Module, batch: Any) -> LossSum:
        loss = made.job.loss.function(model, batch)
        return loss if made.state.step < 6 else LossSum(loss.loss_sum * math.nan, loss.num_items)

    with pytest.raises(HeedfulError) as caught:
        train(made.state, dataclasses.replace(made.job, loss=FunctionLoss(made.state.model, poisoned)), made.run)
    assert str(caught.value) == (
        "Training stopped at step 11: loss or gradient was not finite 5 steps in a row. The last checkpoint is that of "
        'step 8. Lower the learning rate, set `training.clip_norm`, or set `training.precision` to "fp32".'
    )
    assert caught.value.exit_code == 1


def test_four_in_a_row_do_not_and_are_counted(small: Callable[..., Any]) -> None:
    made = small()

    def poisoned(model: nn.Module, batch: Any) -> LossSum:
        loss = made.job.loss.function(model, batch)
        return LossSum(loss.loss_sum * math.nan, loss.num_items) if 3 <= made.state.step < 7 else loss

    train(made.state, dataclasses.replace(made.job, loss=FunctionLoss(made.state.model, poisoned)), made.run)
    records = [record for record in curve(made)[0] if record["kind"] == "train"]
    assert [record["skipped"] for record in records] == [0, 1, 3, 4, 4, 4]
    assert records[2]["loss"] is None  # a line whose steps were all skipped has no loss, not a wrong one
    assert all(math.isfinite(record["loss"]) for number, record in enumerate(records) if number != 2)


def test_patience_ends_a_run_that_gets_no_better_and_it_stays_ended(small: Callable[..., Any]) -> None:
    scores = iter([5.0, 4.0, 4.5, 4.2, 1.0, 1.0])
    options = {"patience": 2, "max_steps": 12, "validation": {"every_steps": 2}}
    made = small(**options)
    job = dataclasses.replace(made.job, validate=lambda _: Validation({"loss": next(scores)}))
    train(made.state, job, made.run)
    assert made.state.step == 8
    assert made.said[-1] == "`validation.metric` has not got better 2 times: training ends here."
    again = small(**options)
    train(again.state, job, again.run)
    assert again.state.step == 8


def test_the_best_checkpoint_is_kept_even_off_schedule(small: Callable[..., Any]) -> None:
    scores = itertools.chain([9.0, 1.0], itertools.repeat(5.0))
    made = small(
        max_steps=20, checkpoint={"every_steps": 5, "keep_last": 1, "keep_best": 1}, validation={"every_steps": 3}
    )
    job = dataclasses.replace(made.job, validate=lambda _: Validation({"loss": next(scores)}))
    train(made.state, job, made.run)
    assert list(list_checkpoints(made.run.checkpoints)) == [6, 20]


def test_validation_sees_the_moving_average_and_gives_the_weights_back(small: Callable[..., Any]) -> None:
    made = small(ema_decay=0.5, max_steps=6)
    seen = []

    def validate(model: nn.Module) -> Validation:
        seen.append(weights_sha256(model))
        return Validation({"loss": 1.0})

    train(made.state, dataclasses.replace(made.job, validate=validate), made.run)
    assert len(seen) == 1
    assert seen[0] != weights_sha256(made.state.model)
    with made.state.average.in_place_of(made.state.model):
        assert seen[0] == weights_sha256(made.state.model)
    assert made.state.model.training


def test_a_disk_that_is_full_for_a_moment_does_not_end_the_run(
    small: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = outcome(small("whole"))
    made = small("moment")
    real, failures = os.fsync, [2]
    slept: list[float] = []

    def fsync(descriptor: int) -> None:
        if "partial" in str(Path(f"/proc/self/fd/{descriptor}").readlink()) and failures[0]:
            failures[0] -= 1
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr("time.sleep", slept.append)
    assert outcome(made) == expected
    assert slept == [1.0, 5.0]
    assert "No space left on device" in made.said[0]
    assert made.said[0].endswith(" bytes are free there. Free some space. Trying again in 1 s.")


def test_a_disk_that_stays_full_ends_the_run_with_a_sentence(
    small: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = small()
    real = os.write

    def write(descriptor: int, data: bytes) -> int:
        if "partial" in str(Path(f"/proc/self/fd/{descriptor}").readlink()):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", write)
    monkeypatch.setattr("time.sleep", lambda _: None)
    with pytest.raises(
        HeedfulError, match=r"could not be written: No space left on device\. [0-9,]+ bytes are needed and"
    ):
        train(made.state, made.job, made.run)
    assert list_checkpoints(made.run.checkpoints) == {}


def test_a_second_trainer_is_refused(tmp_path: Path) -> None:
    with RunLock(tmp_path / "run"):
        with pytest.raises(UserError) as caught, RunLock(tmp_path / "run"):
            pass
        assert str(caught.value) == (
            f"{tmp_path / 'run'} must be used by one training process at a time, but process {os.getpid()} is at it. "
            "Wait for it, stop it, or choose another `name`."
        )
    with RunLock(tmp_path / "run"):
        pass


def test_signals_have_their_old_effect_after_training() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Interruption() as interruption:
        os.kill(os.getpid(), signal.SIGINT)
        assert interruption.received == signal.SIGINT
    assert signal.getsignal(signal.SIGINT) is before
    assert TrainingInterruptedError(signal.SIGINT, 3).exit_code == 130


def test_a_disk_whose_files_cannot_be_locked_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(*_: object) -> Never:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(HeedfulError) as caught, RunLock(tmp_path / "run"):
        pass
    assert str(caught.value) == (
        f"{tmp_path / 'run'} could not be locked: No locks available. "
        "Choose a `runs_folder` on a disk whose files can be locked."
    )
    assert not is_locked(tmp_path / "run")
