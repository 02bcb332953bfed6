"""Which versions pyproject.toml allows of the packages whose private names are used."""

import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LINES = [*PROJECT["dependencies"], *(line for extra in PROJECT["optional-dependencies"].values() for line in extra)]


@pytest.mark.parametrize("package", ["sacrebleu", "uvicorn"])
def test_a_package_whose_private_names_are_used_is_bounded_by_the_version_that_was_tested(package: str) -> None:
    (requirement,) = [wanted for line in LINES if (wanted := Requirement(line)).name == package]
    installed = Version(metadata.version(package))
    assert requirement.specifier.contains(installed)
    assert not requirement.specifier.contains(f"{installed.major}.{installed.minor + 1}.0")
