"""Verbs as jobs over shards: the same bytes by one process and by two, and faults in a sentence."""

import gzip
import json
from pathlib import Path

from tests.support.commands import Command

PAIRS = [(f"The {n} cats are sleeping in the house.", f"Die {n} Katzen schlafen im Haus.") for n in range(30)]


def _write(folder: Path) -> None:
    for number in range(2):
        lines = "".join(f"{source}\t{target}\n" for source, target in PAIRS[number * 15 :][:15])
        (folder / f"s{number}.tsv.gz").write_bytes(gzip.compress(lines.encode()))


def test_a_job_is_the_same_whoever_does_it_and_is_done_once(heedful: Command, tmp_path: Path) -> None:
    _write(tmp_path)
    given = ("--input", "s*.tsv.gz", "--rows", "4", "--from", "en", "--to", "de")
    for number in ("1", "2"):
        done = heedful("clean", *given, "--workers", number, "--out", f"out{number}", cwd=tmp_path)
        assert done.returncode == 0, done.stderr.decode()
    one, two = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("out1", "out2"))
    assert one == two
    pieces = json.loads(one["manifest.json"])["pieces"]
    assert [piece["rows"] for piece in pieces] == [4, 4, 4, 3] * 2
    lines = b"".join(one[piece["file"]] for piece in pieces).decode().splitlines()
    assert lines == [f"{source}\t{target}" for source, target in PAIRS]
    again = heedful("clean", *given, "--workers", "2", "--out", "out2", cwd=tmp_path)
    assert again.returncode == 0
    assert "out2 is finished already." in again.stderr.decode()


def test_what_cannot_be_done_is_said_before_anything_is_written(heedful: Command, tmp_path: Path) -> None:
    _write(tmp_path)
    for arguments, sentence in (
        (("translate", "--input", "s*.gz", "--json", "--out", "o"), "`--json` must be left out with --input"),
        (("translate", "--input", "none*", "--out", "o"), "must name at least one file, but there is none"),
        (("translate", "--workers", "2", "Hello."), "`--workers` must go with --input"),
        (("align", "--input", "s*.gz"), "The folder to write must be named: --out DIR."),
    ):
        done = heedful(*arguments, cwd=tmp_path)
        assert done.returncode == 2, arguments
        assert sentence in done.stderr.decode()
    assert not (tmp_path / "o").exists()
