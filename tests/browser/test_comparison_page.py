"""The page of a comparison, opened from disk in a real browser: plots are drawn, and corpus text stays text."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import Command
from tests.support.small_run import CONFIG, write_corpus

pytestmark = pytest.mark.browser

HOSTILE = '<script>document.title = "taken"</script><img src=x onerror=alert(1)> </table></svg> &amp;'


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory, heedful: Command) -> Path:
    root = tmp_path_factory.mktemp("comparison")
    write_corpus(root)
    for language in ("en", "de"):
        lines = (root / f"test.{language}").read_text().splitlines()[:12]
        (root / f"test.{language}").write_text("\n".join([HOSTILE, *lines]) + "\n")
    short = CONFIG.replace("max_steps = 240", "max_steps = 4").replace("every_steps = 120", "every_steps = 2")
    short = short.replace("log_every = 20", "log_every = 1") + "[decoding]\nbeam_size = 1\nextra_tokens = 5\n"
    (root / "a.toml").write_text(short)
    (root / "<b> & 'c'.toml").write_text(short.replace("dim = 64", "dim = 32"))
    result = heedful("compare", "a.toml", "<b> & 'c'.toml", "--out", "out", "--device", "cpu", cwd=root)
    assert result.returncode == 0, result.stderr.decode()
    return root / "out" / "report.html"


@pytest.mark.parametrize("width", [1440, 390])
def test_tables_and_plots_are_there_and_text_stays_text(
    opened: Callable[..., Any], page_file: Path, width: int
) -> None:
    with opened(page_file, width=width) as page:  # complains of console errors and of every request
        assert page.title() == "Compared: a, <b> & 'c'"
        titles = page.eval_on_selector_all("svg > title", "all => all.map(each => each.textContent)")
        assert any("95 % intervals" in title for title in titles)
        assert any("by length" in title for title in titles)
        assert "Training loss" in titles
        assert any("speed on a CPU" in title for title in titles)
        for drawn in page.query_selector_all("svg"):
            assert len(drawn.query_selector_all("circle")) >= 2
            box = drawn.bounding_box()
            assert box is not None
            assert box["width"] > 200
        texts = page.eval_on_selector_all("td", "all => all.map(each => each.textContent)")
        assert HOSTILE in texts
        assert "<b> & 'c'" in texts
        assert page.eval_on_selector_all("script, img, iframe", "all => all.length") == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= width
