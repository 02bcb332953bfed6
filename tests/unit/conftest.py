"""A corpus on disk, for what reads one and for what looks into one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from heedful.config.data import LineCorpus
from tests.support.small_corpus import WriteCorpus


@pytest.fixture
def write_corpus(tmp_path: Path) -> WriteCorpus:
    def write(name: str, source: Sequence[str], target: Sequence[str], **settings: Any) -> LineCorpus:
        for side, lines in (("en", source), ("de", target)):
            (tmp_path / f"{name}.{side}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return LineCorpus(source=str(tmp_path / f"{name}.en"), target=str(tmp_path / f"{name}.de"), **settings)

    return write
