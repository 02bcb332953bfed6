"""The names models are served under."""

from pathlib import Path

from heedful.serving.engines import ids_of


def test_models_are_named_after_their_folders(tmp_path: Path) -> None:
    folders = [tmp_path / "runs" / "My Run" / "model", tmp_path / "b" / "tiny", tmp_path / "c" / "tiny", tmp_path / "…"]
    assert ids_of(folders) == ["my-run", "tiny", "tiny-2", "model"]
