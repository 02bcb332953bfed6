"""`heedful translate` as a process: lines in, lines out, whatever the other end of the pipe does."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command_server import command_server
from tests.support.commands import Command
from tests.support.small_run import SmallRun

COMMAND = [sys.executable, "-m", "heedful", "translate"]


def lines_of(output: bytes) -> list[str]:
    assert output == b"" or output.endswith(b"\n")
    return output.decode().split("\n")[:-1]


def test_a_line_in_is_a_line_out_and_empty_stays_empty(heedful: Command, small_run: SmallRun) -> None:
    stdin = b"ten houses\n\n   \nfive books\nten houses"
    result = heedful("translate", "--model", small_run.run, stdin=stdin)
    assert (result.returncode, result.stderr) == (0, b"")
    lines = lines_of(result.stdout)
    assert len(lines) == 5
    assert lines[1] == lines[2] == ""
    assert lines[0] == lines[4] != ""


def test_the_model_has_learned_something(heedful: Command, small_run: SmallRun) -> None:
    result = heedful("translate", "--model", small_run.run, stdin=(small_run.root / "test.en").read_bytes())
    ours, right = lines_of(result.stdout), lines_of((small_run.root / "test.de").read_bytes())
    assert len(ours) == len(right)
    assert sum(a == b for a, b in zip(ours, right, strict=True)) > len(right) / 3  # seconds of training are enough


def test_text_in_the_command_keeps_its_lines_and_does_not_read_stdin(heedful: Command, small_run: SmallRun) -> None:
    result = heedful("translate", "-m", small_run.run, "ten houses", "five books\n\n  ten houses", "")
    assert result.returncode == 0
    lines = lines_of(result.stdout)
    assert len(lines) == 5
    assert lines[2] == lines[4] == ""
    assert lines[3] == "  " + lines[0]


def test_no_input_gives_no_output(heedful: Command, small_run: SmallRun) -> None:
    result = heedful("translate", "--model", small_run.run)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")


def test_json_has_scores_alternatives_and_the_source(heedful: Command, small_run: SmallRun) -> None:
    result = heedful(
        "translate", "-m", small_run.run, "--json", "--n-best", "3", "--beam", "4", stdin=b"ten houses\n\n"
    )
    first, empty = [json.loads(line) for line in lines_of(result.stdout)]
    assert first["source"] == "ten houses"
    assert len(first["alternatives"]) == 3
    scores = [alternative["score"] for alternative in first["alternatives"]]
    assert scores == sorted(scores, reverse=True)
    assert first["translation"] == first["alternatives"][0]["text"]
    assert (empty["translation"], empty["warnings"]) == ("", [])


def test_invalid_utf8_is_replaced_counted_and_said(heedful: Command, small_run: SmallRun) -> None:
    result = heedful("translate", "-m", small_run.run, stdin=b"ten houses\n\xff\xfe\nfive \xc3 books\n")
    assert result.returncode == 0
    assert len(lines_of(result.stdout)) == 3
    expected = "warning: 2 lines were not valid UTF-8; bad bytes became U+FFFD (line 2, 3).\n"
    assert result.stderr.decode().endswith(expected)


def test_a_long_input_is_split_and_said_so(heedful: Command, small_run: SmallRun) -> None:
    text = " ".join(["on monday at half past seven"] * 200)
    result = heedful("translate", "-m", small_run.run, stdin=text.encode() + b"\nten houses\n")
    assert len(lines_of(result.stdout)) == 2
    assert "line 1: a sentence was longer than the model reads at once and was translated in" in result.stderr.decode()


def test_a_paragraph_is_translated_sentence_by_sentence(heedful: Command, small_run: SmallRun) -> None:
    sentences = ["Ten houses.", "Five books.", "Two cats."]
    result = heedful("translate", "-m", small_run.run, stdin="\n".join([*sentences, " ".join(sentences), ""]).encode())
    *one_by_one, together = lines_of(result.stdout)
    assert together == " ".join(one_by_one)
    assert b"longer than the model reads" not in result.stderr


def test_starting_loads_neither_the_compiler_nor_what_only_training_needs(small_run: SmallRun) -> None:
    script = (
        "import sys; from heedful.cli import main\n"
        f"sys.argv = ['heedful', 'translate', 'ten houses', '--model', {str(small_run.run)!r}]\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "heavy = {'torch._dynamo', 'torch._inductor', 'sympy', 'pyarrow', 'sacrebleu', 'transformers'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


def test_a_line_is_answered_while_the_input_is_still_open(small_run: SmallRun) -> None:
    theirs, ours = os.pipe()
    process = command_server().start("translate", "--model", small_run.run, stdin=theirs)
    for line in (b"ten houses\n", b"five books\n"):
        os.write(ours, line)
        assert process.stdout.readline().strip() != b""
    os.close(ours)
    assert process.stdout.read() == b""
    assert process.wait(timeout=30) == 0


def test_a_reader_that_leaves_early_is_no_failure(small_run: SmallRun) -> None:
    script = f"yes 'ten houses' | head -5000 | {' '.join(COMMAND)} --model {small_run.run} | head -1"
    result = subprocess.run(["bash", "-o", "pipefail", "-c", script], capture_output=True, check=False, timeout=120)
    assert len(lines_of(result.stdout)) == 1
    assert result.stderr == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_said_and_exits_with_1(small_run: SmallRun) -> None:
    with Path("/dev/full").open("wb") as full:
        result = subprocess.run(
            [*COMMAND, "--model", str(small_run.run), "ten houses"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert result.returncode == 1
    assert result.stderr.decode() == "error: The output cannot be read or written: No space left on device.\n"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
def test_a_signal_ends_it_quietly(small_run: SmallRun, number: int, code: int) -> None:
    with subprocess.Popen(
        [*COMMAND, "--model", str(small_run.run)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"ten houses\n")
        process.stdin.flush()
        process.stdout.readline()
        os.kill(process.pid, number)
        assert process.wait(timeout=30) == code
        assert b"Traceback" not in process.stderr.read()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--to", "fr"], 'This model translates into "de", but was asked for "fr".'),
        (["--from", "fr"], 'This model translates from "en", but was asked to from "fr".'),
        (["--n-best", "2"], "`--n-best` must be 1 without --json, because one line in is one line out. Add --json."),
        (["--device", "tpu"], 'The device must be cpu, cuda or cuda:N, but is "tpu".'),
        (["--quantize", "int3"], '`quantize` must be "auto", "int8" or "none", but is "int3".'),
    ],
)
def test_a_request_the_model_cannot_meet_is_refused(
    heedful: Command, small_run: SmallRun, arguments: list[str], sentence: str
) -> None:
    result = heedful("translate", "--model", small_run.run, *arguments, stdin=b"ten houses\n")
    assert (result.returncode, result.stdout, result.stderr.decode()) == (2, b"", f"error: {sentence}\n")
