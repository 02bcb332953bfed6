import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from heedful.config.training import AverageConfig, TrainingConfig
from heedful.errors import HeedfulError, ModelFolderError, UserError
from heedful.training.durability.averaging import average_checkpoints, checkpoints_to_average
from heedful.training.durability.checkpoint import (
    best_steps,
    find_latest,
    list_checkpoints,
    load_checkpoint,
    require_space,
    retain,
    save_checkpoint,
)
from heedful.training.loop import start_state, weights_sha256
from heedful.training.state import TrainState
from heedful.training.step import StepSettings, train_step


def after_steps(made: Any, count: int) -> TrainState:
    stream = made.job.batches_from(0)
    for _ in range(count):
        train_step(made.state, made.job.loss, [next(stream)], StepSettings(seed=3), learning_rate=0.1)
    return made.state


def test_everything_comes_back(small: Callable[..., Any], tmp_path: Path) -> None:
    state = after_steps(small(ema_decay=0.5), 3)
    state.scores, state.num_parts, state.stopped_early = {2: -0.5}, 4, True
    path = save_checkpoint(tmp_path, state, {"tokenizer": "abc"})
    assert path.name == "step-00000003"
    other = small(ema_decay=0.5).state
    load_checkpoint(path, other, {"tokenizer": "abc"})
    assert (other.step, other.scores, other.num_parts, other.stopped_early) == (3, {2: -0.5}, 4, True)
    assert weights_sha256(other.model) == weights_sha256(state.model)
    for name, tensor in state.average.weights.items():
        assert torch.equal(other.average.weights[name], tensor)
    for one, two in zip(state.model.parameters(), other.model.parameters(), strict=True):
        moments, restored = state.optimizer.state[one], other.optimizer.state[two]
        assert set(moments) == set(restored) == {"step", "exp_avg", "exp_avg_sq"}
        assert all(torch.equal(moments[key], restored[key]) for key in moments)
    for name in ("loss_sum", "num_items", "gradient_norm", "skipped", "skipped_in_a_row"):
        one, two = getattr(state.tally, name), getattr(other.tally, name)
        assert torch.equal(one, two)
        assert one.dtype == two.dtype
    assert torch.equal(other.tally.metric_sums["error"], state.tally.metric_sums["error"])


def test_no_file_of_a_checkpoint_is_a_pickle(small: Callable[..., Any], tmp_path: Path) -> None:
    path = save_checkpoint(tmp_path, after_steps(small(), 1), {})
    for file in path.iterdir():
        if file.suffix == ".json":
            json.loads(file.read_bytes())
        else:
            header_length = int.from_bytes(file.read_bytes()[:8], "little")
            json.loads(file.read_bytes()[8 : 8 + header_length])


def test_a_tied_matrix_is_stored_once_and_stays_tied(tmp_path: Path) -> None:
    def tied() -> TrainState:
        model = nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 5, bias=False))
        model[1].weight = model[0].weight
        return start_state(model, TrainingConfig())

    state, other = tied(), tied()
    path = save_checkpoint(tmp_path, state, {})
    load_checkpoint(path, other, {})
    assert torch.equal(other.model[1].weight, state.model[0].weight)
    assert list(average_checkpoints([path])) == ["0.weight"]


def test_a_checkpoint_of_another_run_is_refused(small: Callable[..., Any], tmp_path: Path) -> None:
    path = save_checkpoint(tmp_path, after_steps(small(), 1), {"tokenizer": "abc"})
    with pytest.raises(
        ModelFolderError, match=r"must belong to this run, but its tokenizer is abc instead of xyz\. Resume"
    ):
        load_checkpoint(path, small().state, {"tokenizer": "xyz"})
    other = start_state(nn.Linear(2, 2), TrainingConfig())
    with pytest.raises(
        ModelFolderError, match=r"cannot be read as a checkpoint: model\.safetensors and the model differ in"
    ):
        load_checkpoint(path, other, {})


def test_weights_that_are_not_finite_are_never_saved(small: Callable[..., Any], tmp_path: Path) -> None:
    state = small().state
    with torch.no_grad():
        state.model[0].weight[0, 0] = torch.nan
    with pytest.raises(HeedfulError, match=r"^0\.weight is not finite at step 0, so no checkpoint is written\."):
        save_checkpoint(tmp_path / "checkpoints", state, {})
    assert not (tmp_path / "checkpoints").exists()


def test_the_latest_is_the_newest_that_verifies(small: Callable[..., Any], tmp_path: Path) -> None:
    said: list[str] = []
    assert find_latest(tmp_path / "nowhere", said.append) is None
    made = small()
    first = save_checkpoint(tmp_path, after_steps(made, 1), {})
    second = save_checkpoint(tmp_path, after_steps(made, 1), {})
    third = save_checkpoint(tmp_path, after_steps(made, 1), {})
    assert find_latest(tmp_path, said.append) == third
    (third / "optimizer.safetensors").unlink()
    (tmp_path / ".step-00000004.partial-0a").mkdir()
    assert find_latest(tmp_path, said.append) == second
    assert len(said) == 1
    assert said[0].startswith("The checkpoint step-00000003 is damaged and passed over: ")
    assert "must hold optimizer.safetensors" in said[0]
    assert not (tmp_path / ".step-00000004.partial-0a").exists()
    (second / "model.safetensors").write_bytes(b"")
    (first / "manifest.json").unlink()
    with pytest.raises(ModelFolderError, match="must hold an intact checkpoint, but all 3 are damaged"):
        find_latest(tmp_path, said.append)


def test_a_damaged_checkpoint_makes_room_for_a_new_one_of_its_step(small: Callable[..., Any], tmp_path: Path) -> None:
    made = small()
    path = save_checkpoint(tmp_path, after_steps(made, 1), {})
    (path / "state.json").unlink()
    assert save_checkpoint(tmp_path, made.state, {}) == path
    assert find_latest(tmp_path, lambda _: None) == path


def test_retention_keeps_the_last_on_schedule_the_best_and_the_newest(
    small: Callable[..., Any], tmp_path: Path
) -> None:
    state, folder = small().state, tmp_path / "checkpoints"
    for step in (10, 20, 25, 30, 40, 43):
        state.step = step
        save_checkpoint(folder, state, {})
    retain(folder, every_steps=10, keep_last=3, keep_best=2, scores={10: 5.0, 20: 1.0, 25: 3.0, 35: 9.0})
    # 43 and 25 are off schedule; 43 is the newest, 25 is among the best; 35 was validated but never saved.
    assert list(list_checkpoints(folder)) == [10, 25, 30, 40, 43]
    assert sorted(path.name for path in folder.iterdir()) == [f"step-{step:08d}" for step in (10, 25, 30, 40, 43)]


def test_nothing_is_removed_while_the_newest_does_not_verify(small: Callable[..., Any], tmp_path: Path) -> None:
    state = small().state
    for step in (10, 20, 30):
        state.step = step
        path = save_checkpoint(tmp_path, state, {})
    (path / "model.safetensors").write_bytes(b"torn")
    with pytest.raises(ModelFolderError, match=r"model\.safetensors has been altered"):
        retain(tmp_path, every_steps=10, keep_last=1, keep_best=0, scores={})
    assert list(list_checkpoints(tmp_path)) == [10, 20, 30]


def test_of_equal_scores_the_earlier_is_the_better() -> None:
    assert best_steps([1, 2, 3, 4], {4: 1.0, 2: 1.0, 3: 0.5, 9: 7.0}, 2) == [2, 4]


def test_the_average_is_the_mean(small: Callable[..., Any], tmp_path: Path) -> None:
    state = small().state
    for step, value in ((10, 1.0), (15, 100.0), (20, 2.0), (30, 6.0)):
        state.step = step
        with torch.no_grad():
            for parameter in state.model.parameters():
                parameter.fill_(value)
        save_checkpoint(tmp_path, state, {})

    def mean(which: str, count: int, scores: dict[int, float]) -> set[float]:
        config = AverageConfig(which=which, count=count)
        weights = average_checkpoints(checkpoints_to_average(tmp_path, config, every_steps=10, scores=scores))
        return {value for tensor in weights.values() for value in tensor.flatten().tolist()}

    assert mean("last", 3, {}) == {3.0}  # 15 was written when somebody pressed Ctrl-C
    assert mean("last", 99, {}) == {3.0}
    assert mean("best", 2, {10: 0.3, 20: 0.1, 30: 0.2}) == {3.5}
    assert mean("best", 2, {}) == {4.0}
    with pytest.raises(UserError, match="at least one checkpoint"):
        average_checkpoints([])


def test_where_there_is_a_moving_average_it_is_shipped(small: Callable[..., Any], tmp_path: Path) -> None:
    state = after_steps(small(ema_decay=0.5), 2)
    weights = average_checkpoints([save_checkpoint(tmp_path, state, {})])
    assert all(torch.equal(weights[name], tensor) for name, tensor in state.average.weights.items())
    assert not torch.equal(weights["0.weight"], state.model[0].weight)


def test_a_disk_without_room_for_two_checkpoints_is_refused_at_once(
    small: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 100})())
    with pytest.raises(
        HeedfulError, match=r"needs room for two checkpoints, 1,176 bytes, but 100 bytes are free there\."
    ):
        require_space(tmp_path / "not" / "yet", small().state)
