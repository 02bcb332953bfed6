"""Which folder and which device are meant."""

from pathlib import Path

import pytest
import torch

from heedful.errors import UserError
from heedful.tasks.device import choose_device
from heedful.tasks.folders import find_model_folder, refuse_existing


def test_a_run_folder_stands_for_its_model(tmp_path: Path) -> None:
    assert find_model_folder(tmp_path) == tmp_path
    (tmp_path / "model").mkdir()
    assert find_model_folder(tmp_path) == tmp_path / "model"


def test_a_run_that_has_no_model_yet_says_so(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").mkdir()
    with pytest.raises(UserError, match=r"has no model yet\. Let its training end: heedful train CONFIG --resume\.$"):
        find_model_folder(tmp_path)


def test_what_exists_is_refused_as_a_place_for_output(tmp_path: Path) -> None:
    refuse_existing(tmp_path / "new")
    with pytest.raises(UserError, match=r"must not exist yet, but does\. Choose another, or remove it\.$"):
        refuse_existing(tmp_path)


def test_the_cpu_is_always_there() -> None:
    assert choose_device("cpu") == torch.device("cpu")


@pytest.mark.parametrize("name", ["tpu", "", "mps", "cuda:x"])
def test_a_device_of_another_kind_is_refused(name: str) -> None:
    with pytest.raises(UserError, match=rf'^The device must be cpu, cuda or cuda:N, but is "{name}"\.$'):
        choose_device(name)


def test_a_gpu_that_is_not_there_is_refused() -> None:
    with pytest.raises(UserError, match=r'^The device "cuda:99" must be there, but PyTorch sees \d+ GPUs\.'):
        choose_device("cuda:99")
