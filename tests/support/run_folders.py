"""Folders of runs as a training leaves them: a config of any task, and a journal of so many rows."""

import json
from pathlib import Path

CONFIGS = {
    "translation": '[data]\nsource_language = "en"\ntarget_language = "de"\n'
    'train = [{ source = "a.en", target = "a.de" }]\nvalidation = [{ source = "b.en", target = "b.de" }]\n',
    "classification": '[data]\ntrain = [{ path = "a.jsonl" }]\n',
    "language_modeling": '[data]\ntrain = ["a.txt"]\nvalidation = ["b.txt"]\n',
}


def make_run(folder: Path, task: str = "translation", rows: int = 0) -> Path:
    folder.mkdir(parents=True)
    text = f'task = "{task}"\nname = "{folder.name}"\n{CONFIGS[task]}[training]\nmax_steps = 99\n'
    (folder / "config.toml").write_text(text)
    write(folder, "metrics.jsonl", [{"step": step, "kind": "train"} for step in range(1, rows + 1)])
    return folder


def write(folder: Path, name: str, rows: list[dict[str, object]]) -> None:
    with (folder / name).open("a") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
