"""The two engines behind one `Translator`: they agree, they can be shared by threads, and each can be asked for."""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from heedful import load
from heedful.engines.int8.engine import Int8Transformer
from tests.support.commands import Command
from tests.support.small_run import SmallRun

pytestmark = pytest.mark.skipif(not Int8Transformer.is_available(), reason="needs a C++ compiler")


@pytest.fixture(scope="module")
def sources(small_run: SmallRun) -> list[str]:
    return (small_run.root / "test.en").read_text().split("\n")[:-1]


@pytest.mark.parametrize("beam_size", [1, 4])
def test_int8_translates_as_fp32_does(small_run: SmallRun, sources: list[str], beam_size: int) -> None:
    """After seconds of training two words may be all but equally probable: a few lines may differ, their scores hardly.

    A search, with a beam as well, may leave such a fork for a worse end, so line by line only those with the same text
    are compared; over all lines neither engine finds better ends than the other.
    """
    exact, rounded = (
        load(small_run.run, device="cpu", quantize=quantize).translate_detailed(sources, beam_size=beam_size)
        for quantize in (None, "int8")
    )
    pairs = list(zip(exact, rounded, strict=True))
    assert sum(a.text == b.text for a, b in pairs) >= 0.9 * len(sources)
    assert all(abs(a.score - b.score) < 0.2 for a, b in pairs if a.text == b.text)
    assert abs(sum(a.score - b.score for a, b in pairs)) < 0.02 * len(pairs)
    assert len({translation.text for translation in exact}) > 0.9 * len(sources), "they should say something"


@pytest.mark.parametrize("quantize", ["int8", "none"])
def test_threads_share_one_model(small_run: SmallRun, sources: list[str], quantize: str) -> None:
    translator = load(small_run.run, device="cpu", quantize=quantize)
    # Shares of unlike lengths, so that one search begins and ends in the midst of another.
    shares = [sources[:3], sources[3:20], sources[20:23], sources[23:]] * 3
    alone = [translator.translate(share, beam_size=2) for share in shares]
    with ThreadPoolExecutor(max_workers=2) as threads:
        together = list(threads.map(lambda share: translator.translate(share, beam_size=2), shares))
    assert together == alone


def test_each_engine_can_be_asked_for(small_run: SmallRun) -> None:
    for quantize in ("auto", "int8"):
        assert load(small_run.run, device="cpu", quantize=quantize).engine == "int8"
    for without in (None, "none"):
        assert load(small_run.run, device="cpu", quantize=without).engine == "float"


def test_without_a_compiler_int8_is_refused_and_auto_takes_fp32(
    heedful: Command, small_run: SmallRun, tmp_path: Path
) -> None:
    def translate(quantize: str, **environment: str) -> "subprocess.CompletedProcess[bytes]":
        return heedful("translate", "ten houses", "-m", small_run.run, "--quantize", quantize, **environment)

    bare = {"PATH": str(tmp_path), "CXX": "", "HEEDFUL_CACHE": str(tmp_path)}
    refused = translate("int8", **bare)
    assert (refused.returncode, refused.stdout) == (1, b"")
    assert refused.stderr.decode() == (
        "error: The int8 engine needs a C++ compiler, but neither $CXX, g++, clang++ nor c++ is there. "
        "Install one (for example `apt install g++`), or go on with `--quantize none`.\n"
    )
    fallen_back = translate("auto", **bare)
    assert (fallen_back.returncode, fallen_back.stderr) == (0, b"")
    assert fallen_back.stdout == translate("none").stdout
