"""`heedful translate FILE` with damaged files of every kind: a translation or a sentence, and nothing overwritten."""

import random
from pathlib import Path

import pytest

from tests.support.commands import Command
from tests.support.documents import SAMPLES
from tests.support.small_run import SmallRun

NUM_DAMAGED = 4  # one of each damage; hundreds of each kind are read by tests of the formats themselves


def damaged(data: bytes, number: int) -> bytes:
    """Turn bits, cut the end off, take a piece out, or put one in."""
    chance, wrong = random.Random(number), bytearray(data)
    start = chance.randrange(len(wrong))
    match number % 4:
        case 0:
            for _ in range(chance.randint(1, 20)):
                wrong[chance.randrange(len(wrong))] ^= 1 << chance.randrange(8)
        case 1:
            del wrong[start:]
        case 2:
            del wrong[start : start + chance.randint(1, 200)]
        case _:
            wrong[start:start] = chance.randbytes(chance.randint(1, 50))
    return bytes(wrong)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_damaged_file_gives_a_translation_or_a_sentence(
    heedful: Command, small_run: SmallRun, tmp_path: Path, name: str
) -> None:
    stem, ending = name.split(".")
    for number in range(NUM_DAMAGED):
        folder = tmp_path / str(number)
        folder.mkdir()
        content = damaged(SAMPLES[name], number)
        (folder / name).write_bytes(content)
        beside = folder / f"{stem}.xx.{ending}"
        beside.write_bytes(b"precious")
        result = heedful("translate", name, "--model", small_run.run, "--beam", "1", cwd=folder)
        told = result.stderr.decode()
        assert "Traceback" not in told, told
        assert (folder / name).read_bytes() == content
        assert beside.read_bytes() == b"precious"
        others = {path.name for path in folder.iterdir()} - {name, beside.name}
        if result.returncode == 0:
            assert others == {f"{stem}.de.{ending}"}, told
        else:
            assert result.returncode in (1, 2)
            assert told.splitlines()[-1].startswith("error: "), told
            assert told.rstrip().endswith((".", "?")), told
            assert not others, "nothing is left behind"
