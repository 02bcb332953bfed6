"""Checkpoints: a run between two steps, on disk. Tensors in safetensors, the rest in JSON, never pickle.

A checkpoint is a new folder `step-00000123` that appears whole (`files.publish_folder`) and is sealed by a manifest.
Where several processes train together each writes its rows of the tensors (`shards.py`), and the first one seals.
Which is the latest is computed, the highest step that verifies, not remembered in a pointer that could lie. Nothing
old is removed before the new one has been read back.
"""

import json
import re
import shutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError
from torch import Tensor

from heedful.errors import HeedfulError, ModelFolderError
from heedful.files import (
    JsonValue,
    begin_folder,
    begun_folder,
    finish_folder,
    publish_folder,
    remove_folder,
    sweep_partial,
    verify_manifest,
    write_manifest,
    write_new,
)
from heedful.training.distribution.ranks import Ranks
from heedful.training.distribution.wrapping import Team, local
from heedful.training.durability.shards import Rows, read_shards, shard_bytes, shard_name
from heedful.training.state import TrainState

_NAME = re.compile(r"step-(\d{8,})")
WEIGHTS, AVERAGE, OPTIMIZER, TALLY, CARRIED = (
    "model.safetensors",
    "average.safetensors",
    "optimizer.safetensors",
    "tally.safetensors",
    "carried.safetensors",
)
_STATE = "state.json"
_TALLY_FIELDS = {
    "loss_sum": "loss_sum",
    "num_tokens": "num_items",  # on disk it has the name from when all that was trained were translators
    "gradient_norm": "gradient_norm",
    "skipped": "skipped",
    "skipped_in_a_row": "skipped_in_a_row",
}


@dataclass(frozen=True)
class Snapshot:
    """A state as it was between two steps, in memory of its own: training may go on while it is written."""

    step: int
    tensors: Mapping[str, Mapping[str, Tensor]]
    """Name of a file → what it holds."""

    plain: Mapping[str, JsonValue]
    facts: Mapping[str, JsonValue]
    rank: int = 0
    world: int = 1
    """The tensors are what rank `rank` of `world` writes: its rows of each."""

    dimensions: Mapping[str, int] = field(default_factory=dict)
    """Which dimension counts the rows of a tensor, where it is not the first."""


def take_snapshot(state: TrainState, facts: Mapping[str, JsonValue], team: Team | None = None) -> Snapshot:
    """Copy the state, of a team this rank's part of it. `facts` (say, the tokenizer's hash) must match on resume."""
    team = team or Team()
    ranks = team.ranks
    ranks.all_or_none(lambda: _require_finite(state))
    tensors = {WEIGHTS: _named_tensors(state), OPTIMIZER: _optimizer_tensors(state)}
    if state.average is not None:
        tensors[AVERAGE] = state.average.weights
    if ranks.world > 1:
        tensors = {name: _rows_to_write(held, team) for name, held in tensors.items()}
    if state.carried:
        tensors[CARRIED] = _own_carried(state, team)
    if ranks.is_first:
        tensors[TALLY] = _tally_tensors(state)
    copies = {name: {key: _copy(tensor) for key, tensor in held.items()} for name, held in tensors.items()}
    dimensions = dict(state.carried_rows) if ranks.world > 1 else {}
    return Snapshot(state.step, copies, _plain_state(state), dict(facts), ranks.rank, ranks.world, dimensions)


def write_snapshot(folder: Path, snapshot: Snapshot) -> Path:
    """Write a snapshot of one process as a new checkpoint in `folder`."""
    final = folder / f"step-{snapshot.step:08d}"

    def fill(partial: Path) -> None:
        _write_tensors(partial, snapshot)
        _seal(partial, snapshot)

    if final.exists():  # it did not verify, or the run would not be at this step again
        remove_folder(final)
    publish_folder(final, fill)
    return final


def write_together(folder: Path, snapshot: Snapshot, ranks: Ranks) -> None:
    """Write the snapshots of all ranks as one new checkpoint: each writes its files, the first one seals and publishes.

    Either all ranks return, and the checkpoint is there, or all raise.
    """
    final = folder / f"step-{snapshot.step:08d}"

    def begin() -> tuple[float]:
        if final.exists():
            remove_folder(final)
        return (begin_folder(final),)

    def publish() -> tuple[()]:
        _seal(partial, snapshot)
        finish_folder(partial, final)
        return ()

    (number,) = ranks.first(begin, 1)
    partial = begun_folder(final, int(number))
    try:
        ranks.all_or_none(lambda: _write_tensors(partial, snapshot))
        ranks.first(publish, 0)
    except BaseException:
        if ranks.is_first:
            shutil.rmtree(partial, ignore_errors=True)
        raise


def save_checkpoint(folder: Path, state: TrainState, facts: Mapping[str, JsonValue]) -> Path:
    """Write the state as a new checkpoint, and return when it is on disk."""
    return write_snapshot(folder, take_snapshot(state, facts))


def load_checkpoint(
    path: Path,
    state: TrainState,
    facts: Mapping[str, JsonValue],
    rows: Rows | None = None,
    verify: Callable[[Path], dict[str, JsonValue]] = verify_manifest,
) -> None:
    """Put a checkpoint into `state`, which has just been built from the same configuration. Verifies first.

    However many processes have written it: `rows` says which rows of the weights this one holds; None means all.
    """
    manifest = verify(path)
    for name, expected in facts.items():
        if manifest.get(name) != expected:
            raise ModelFolderError(
                f"{path} must belong to this run, but its {name} is {manifest.get(name)} instead of {expected}. "
                "Resume with the configuration and data the run was started with, or start a new run."
            )
    try:
        _copy_into(WEIGHTS, read_shards(path, WEIGHTS, rows), _named_tensors(state))
        if state.average is not None:
            _copy_into(AVERAGE, read_shards(path, AVERAGE, rows), state.average.weights)
        if state.carried:
            _copy_into(CARRIED, read_shards(path, CARRIED), state.carried)
        _restore_optimizer(state, read_shards(path, OPTIMIZER, rows))
        _restore_tally(state, read_shards(path, TALLY))
        plain = json.loads((path / _STATE).read_bytes())
    except (OSError, SafetensorError, ValueError) as error:
        raise ModelFolderError(f"{path} cannot be read as a checkpoint: {error}") from error
    state.step = plain["step"]
    state.scores = {int(step): score for step, score in plain["scores"].items()}
    state.num_parts = plain["num_parts"]
    state.stopped_early = plain["stopped_early"]


def list_checkpoints(folder: Path) -> dict[int, Path]:
    """Return step → folder of every checkpoint, ascending, whether it verifies or not."""
    if not folder.is_dir():
        return {}
    found = {int(match[1]): path for path in folder.iterdir() if (match := _NAME.fullmatch(path.name))}
    return dict(sorted(found.items()))


def find_latest(folder: Path, report: Callable[[str], None]) -> Path | None:
    """Return the newest checkpoint that verifies; None when there is none at all. Sweeps what killed saves left.

    Damaged ones are reported and passed over. When all are damaged that is an error: to begin anew without a word
    would throw the run away.
    """
    sweep_partial(folder)
    checkpoints = list(list_checkpoints(folder).values())
    for path in reversed(checkpoints):
        try:
            verify_manifest(path)
        except ModelFolderError as error:
            report(f"The checkpoint {path.name} is damaged and passed over: {error}")
        else:
            return path
    if checkpoints:
        raise ModelFolderError(f"{folder} must hold an intact checkpoint, but all {len(checkpoints)} are damaged.")
    return None


def retain(folder: Path, *, every_steps: int, keep_last: int, keep_best: int, scores: Mapping[int, float]) -> None:
    """Remove all but the newest, the `keep_last` newest on schedule and the `keep_best` of the highest scores.

    The newest is read back and verified before anything is removed.
    """
    checkpoints = list_checkpoints(folder)
    kept = {*scheduled_steps(checkpoints, every_steps)[-keep_last:], *best_steps(checkpoints, scores, keep_best)}
    outdated = [path for step, path in checkpoints.items() if step not in kept]
    if outdated:
        verify_manifest(list(checkpoints.values())[-1])
    for path in outdated:
        remove_folder(path)


def scheduled_steps(steps: Collection[int], every_steps: int) -> list[int]:
    """Return, ascending, the steps where a checkpoint was due, and the newest.

    One that was written because somebody pressed Ctrl-C is not among them once training has gone on: it must change
    neither what is kept nor what is averaged.
    """
    return sorted(step for step in steps if step % every_steps == 0 or step == max(steps))


def best_steps(steps: Collection[int], scores: Mapping[int, float], count: int) -> list[int]:
    """Return the `count` steps with the highest scores, best first; of equal ones the earlier."""
    return sorted((step for step in steps if step in scores), key=lambda step: (-scores[step], step))[:count]


def require_space(folder: Path, state: TrainState) -> None:
    """Refuse to start where two checkpoints do not fit: a run should not learn this after a day."""
    one = 3 * sum(tensor.numel() * tensor.element_size() for tensor in _named_once(state).values())
    one += sum(tensor.nbytes for tensor in state.carried.values())
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.is_dir())
    free = shutil.disk_usage(existing).free
    if free < 2 * one:
        raise HeedfulError(
            f"{folder} needs room for two checkpoints, {2 * one:,} bytes, but {free:,} bytes are free there. "
            "Free some space, or choose another `runs_folder`."
        )


def _require_finite(state: TrainState) -> None:
    weights = _named_tensors(state)
    if damaged := next((name for name, tensor in weights.items() if not bool(tensor.isfinite().all())), None):
        raise HeedfulError(
            f"{damaged} is not finite at step {state.step}, so no checkpoint is written. "
            "Lower the learning rate and go on from the last checkpoint with --resume."
        )


def _rows_to_write(held: Mapping[str, Tensor], team: Team) -> dict[str, Tensor]:
    """Return this rank's rows of each tensor; what has no rows is the first rank's."""
    return {name: team.slice_of(tensor) for name, tensor in held.items() if tensor.ndim or team.ranks.is_first}


def _own_carried(state: TrainState, team: Team) -> dict[str, Tensor]:
    """Return what the passes of this rank have carried on: the rows of its parts."""
    owned = {}
    for name, tensor in state.carried.items():
        dimension = state.carried_rows.get(name, 0)
        start, end = team.cut.own_rows(tensor.size(dimension))
        owned[name] = tensor.narrow(dimension, start, end - start)
    return owned


def _write_tensors(partial: Path, snapshot: Snapshot) -> None:
    for name, tensors in snapshot.tensors.items():
        file = name if name == TALLY else shard_name(name, snapshot.rank, snapshot.world)
        write_new(partial / file, shard_bytes(tensors, snapshot.dimensions))


def _seal(partial: Path, snapshot: Snapshot) -> None:
    write_new(partial / _STATE, json.dumps(snapshot.plain, indent=1).encode() + b"\n")
    write_manifest(partial, {"step": snapshot.step, **snapshot.facts})


def _named_tensors(state: TrainState) -> dict[str, Tensor]:
    """Return parameters and kept buffers, as this process holds them."""
    return {name: local(tensor).detach() for name, tensor in _named_once(state).items()}


def _named_once(state: TrainState) -> dict[str, Tensor]:
    """Return parameters and kept buffers, a tied matrix once, under its first name."""
    seen: set[int] = set()
    named: dict[str, Tensor] = {}
    for name, tensor in state.model.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            seen.add(id(tensor))
            named[name] = tensor
    return named


def _optimizer_tensors(state: TrainState) -> dict[str, Tensor]:
    moments = state.optimizer.state
    return {
        f"{name}/{key}": value
        for name, parameter in state.weights.items()
        for key, value in moments.get(parameter, {}).items()
    }


def _restore_optimizer(state: TrainState, tensors: Mapping[str, Tensor]) -> None:
    parameters = state.weights
    for key, tensor in tensors.items():
        name, _, moment = key.rpartition("/")
        if name not in parameters:
            raise ValueError(f"{OPTIMIZER} has {name}, which the model has not")
        state.optimizer.state[parameters[name]][moment] = tensor.to(parameters[name].device)


def _tally_tensors(state: TrainState) -> dict[str, Tensor]:
    """Return the sums of the journal and, for whoever wants to look, the generators (seeded anew at each step)."""
    tally = state.tally
    tensors = {name: getattr(tally, field) for name, field in _TALLY_FIELDS.items()}
    tensors |= {f"metric/{name}": value for name, value in tally.metric_sums.items()}
    tensors["random/cpu"] = torch.get_rng_state()
    if state.device.type == "cuda":
        tensors["random/cuda"] = torch.cuda.get_rng_state(state.device)
    return tensors


def _restore_tally(state: TrainState, tensors: Mapping[str, Tensor]) -> None:
    tally = state.tally
    tally.metric_sums = {}
    for name, tensor in tensors.items():
        kind, _, rest = name.rpartition("/")
        if kind == "random":
            _restore_generator(rest, tensor, state.device)
        elif kind == "metric":
            tally.metric_sums[rest] = tensor.to(state.device)
        else:
            setattr(tally, _TALLY_FIELDS[name], tensor.to(state.device))


def _restore_generator(kind: str, value: Tensor, device: torch.device) -> None:
    if kind == "cpu":
        torch.set_rng_state(value)
    elif device.type == "cuda":
        torch.cuda.set_rng_state(value, device)


def _plain_state(state: TrainState) -> dict[str, JsonValue]:
    return {
        "step": state.step,
        "scores": {str(step): score for step, score in state.scores.items()},
        "num_parts": state.num_parts,
        "stopped_early": state.stopped_early,
    }


def _copy(tensor: Tensor) -> Tensor:
    return tensor.detach().to("cpu", copy=True, memory_format=torch.contiguous_format)


def _copy_into(name_of_file: str, stored: Mapping[str, Tensor], destinations: Mapping[str, Tensor]) -> None:
    if stored.keys() != destinations.keys():
        odd = sorted(stored.keys() ^ destinations.keys())[0]
        raise ValueError(f"{name_of_file} and the model differ in {odd}")
    with torch.no_grad():
        for name, tensor in stored.items():
            if tensor.shape != destinations[name].shape:
                raise ValueError(f"{name} has shape {list(tensor.shape)} instead of {list(destinations[name].shape)}")
            destinations[name].copy_(tensor)
