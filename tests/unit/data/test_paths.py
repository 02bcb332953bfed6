"""Paths: the two environment variables, and what happens without them."""

from pathlib import Path

import pytest

from heedful.data.paths import resolve_data_path
from heedful.files import cache_folder


def test_a_leading_data_stands_for_the_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEEDFUL_DATA", "/elsewhere")
    assert resolve_data_path("data/a/b.en") == Path("/elsewhere/a/b.en")
    assert resolve_data_path("my/data/b.en") == Path("my/data/b.en")
    monkeypatch.delenv("HEEDFUL_DATA")
    assert resolve_data_path("data/a/b.en") == Path("data/a/b.en")


def test_the_cache_is_where_the_variable_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEEDFUL_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("HEEDFUL_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert tmp_path in cache_folder().parents
