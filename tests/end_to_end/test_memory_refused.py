"""What happens when the operating system refuses memory: smaller batches, then a sentence, never a crash.

The limit is set inside the process, once everything is loaded, so that it meets the search and not the start.
"""

import os
import subprocess
import sys

import pytest

from heedful.engines.int8.engine import Int8Transformer

LIMITED = """
import resource, sys
from dataclasses import replace
from pathlib import Path
import heedful

def leave_room_for(megabytes):
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    room = pages * resource.getpagesize() + megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (room, room))

translator = heedful.load(device="cpu", quantize=QUANTIZE)
translator.translate("Where is the station?", to="de")
"""
IN_PARTS = """
lines = ["The old man walked slowly along the river and looked at the boats.", "Where are you?"] * 10
expected = translator.translate(lines, to="de", beam_size=12)
leave_room_for(15)
tries = []

class Watched:
    def __init__(self, generator):
        self.generator = generator

    def generate(self, source_ids, source_mask, request):
        tries.append(len(source_ids))
        return self.generator.generate(source_ids, source_mask, request)

translator = replace(translator, generator=Watched(translator.generator))
assert translator.translate(lines, to="de", beam_size=12) == expected
assert tries[0] == len(lines) and len(tries) > 1, f"the limit was not met: {tries}"
print("same")
"""
# The command loads the model again, which takes up to 290 MB beside the first; the search then asks for 900 and more.
TOO_LARGE = """
from heedful.cli import main
leave_room_for(600)
sys.argv = ["heedful", "translate", "--to", "de", "--beam", "256", "--quantize", QUANTIZE, " ".join(["river"] * 200)]
main()
"""


def run_limited(script: str, quantize: str) -> "subprocess.CompletedProcess[str]":
    text = (LIMITED + script).replace("QUANTIZE", repr(quantize))
    # Two threads for our engine: what a helper's task throws has to reach the caller, too.
    environment = {**os.environ, "NO_COLOR": "1", "OMP_NUM_THREADS": "2" if quantize == "int8" else "1"}
    return subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=300, check=False, env=environment
    )


@pytest.mark.parametrize("quantize", ["int8", "none"])
def test_a_batch_that_memory_does_not_hold_is_translated_in_parts(quantize: str) -> None:
    if quantize == "int8" and not Int8Transformer.is_available():
        pytest.skip("needs a C++ compiler")
    result = run_limited(IN_PARTS, quantize)
    assert (result.returncode, result.stdout) == (0, "same\n"), result.stderr[-2000:]


@pytest.mark.parametrize("quantize", ["int8", "none"])
def test_one_sentence_that_memory_does_not_hold_is_a_sentence_and_no_crash(quantize: str) -> None:
    if quantize == "int8" and not Int8Transformer.is_available():
        pytest.skip("needs a C++ compiler")
    result = run_limited(TOO_LARGE, quantize)
    assert (result.returncode, result.stdout) == (1, ""), result.stderr[-2000:]
    assert result.stderr == (
        "error: The memory of this machine does not hold even one sentence. "
        "Use a smaller beam, or translate shorter texts.\n"
    )
