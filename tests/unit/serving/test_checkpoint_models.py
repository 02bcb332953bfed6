"""Checkpoints become translators when somebody looks into one, and few of them stay loaded."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save

from heedful.files import write_manifest
from heedful.serving.bodies import BadRequestError
from heedful.serving.checkpoint_models import CheckpointModels
from heedful.serving.limits import Limits
from heedful.serving.measures import Measures
from heedful.serving.runs import Run, Runs
from heedful.storage.model_folder import restore_model
from tests.support.tiny_models import make_model

CONFIG = """
name = "one"
[data]
source_language = "en"
target_language = "de"
train = [{ source = "a.en", target = "a.de" }]
validation = [{ source = "b.en", target = "b.de" }]
[model]
dim = 32
num_heads = 2
hidden_dim = 64
num_encoder_layers = 1
num_decoder_layers = 1
"""


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run with six checkpoints that have weights only, in half precision."""
    folder = tmp_path / "one"
    folder.mkdir()
    (folder / "config.toml").write_text(CONFIG)
    (folder / "tokenizer.json").write_text(make_model().tokenizer_json)
    for step in range(1, 7):
        write_checkpoint(folder, step, {name: tensor.half() for name, tensor in make_model(seed=step).weights.items()})
    return Runs([], tmp_path, Limits(), tmp_path / "no example").find("one")


def write_checkpoint(folder: Path, step: int, weights: dict[str, torch.Tensor]) -> Path:
    checkpoint = folder / "checkpoints" / f"step-{step:08d}"
    checkpoint.mkdir(parents=True, exist_ok=True)
    (checkpoint / "model.safetensors").write_bytes(save(weights))
    (checkpoint / "manifest.json").unlink(missing_ok=True)
    write_manifest(checkpoint, {"step": step})
    return checkpoint


def models_with(limits: Limits) -> CheckpointModels:
    return CheckpointModels(limits, Measures().of_model("checkpoints"), torch.device("cpu"))


def ask(models: CheckpointModels, run: Run, *steps: int) -> list[Any]:
    """Ask for the translators of some steps, one after the other."""

    async def all_of_them() -> list[Any]:
        return [await models.look_into(run, step, lambda translator, _: translator, 1) for step in steps]

    return asyncio.run(all_of_them())


def test_weights_of_any_precision_are_read(run: Run) -> None:
    (translator,) = ask(models_with(Limits()), run, 3)
    expected = restore_model(make_model(seed=3)).state_dict()
    for name, tensor in translator.readable_model.state_dict().items():
        torch.testing.assert_close(tensor, expected[name].half().float())


def test_the_last_few_stay_loaded(run: Run) -> None:
    models = models_with(Limits(max_loaded_checkpoints=2))
    first, second, again, _, gone = ask(models, run, 1, 2, 1, 3, 2)
    assert again is first
    assert gone is not second
    size = sum(parameter.numel() for parameter in first.readable_model.parameters())
    models = models_with(Limits(max_checkpoint_parameters=2 * size))
    first, _, kept, _, gone = ask(models, run, 1, 2, 1, 3, 2)
    assert kept is first
    one, same = ask(models_with(Limits(max_checkpoint_parameters=1)), run, 1, 1)
    assert one is same  # the last is kept, whatever its size


def test_one_that_was_written_anew_is_read_anew(run: Run) -> None:
    models = models_with(Limits())
    (before,) = ask(models, run, 1)
    checkpoint = write_checkpoint(run.folder, 1, dict(make_model(seed=9).weights))
    os.utime(checkpoint / "manifest.json", ns=(1, 1))
    (after,) = ask(models, run, 1)
    assert after is not before


def test_what_cannot_be_read_is_refused_in_a_sentence_without_a_path(run: Run) -> None:
    models = models_with(Limits())
    write_checkpoint(run.folder, 2, {"of another model": torch.zeros(3, 3)})
    weights = {name: tensor[..., :1].contiguous() for name, tensor in make_model().weights.items()}
    write_checkpoint(run.folder, 5, weights)
    (run.folder / "checkpoints" / "step-00000003" / "manifest.json").write_text("{}")
    (run.folder / "checkpoints" / "step-00000004" / "model.safetensors").unlink()
    for step in (2, 3, 4, 5):
        with pytest.raises(BadRequestError) as refused:
            ask(models, run, step)
        assert str(refused.value) == f"The checkpoint of step {step} of the run one is damaged. Choose another."
    with pytest.raises(BadRequestError, match=r"The run one has no checkpoint of step 7\.") as refused:
        ask(models, run, 7)
    assert refused.value.status == 404
