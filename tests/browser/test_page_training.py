"""The view of training in a real browser, while a real process trains."""

import json
import re
import signal
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks.load import ServerProcess

from tests.support.command_server import ForkedCommand, command_server
from tests.support.forked_server import ForkedServer
from tests.support.small_run import write_corpus
from tests.support.tiny_models import save_model

pytestmark = pytest.mark.browser

SHORT = [
    "training.checkpoint.every_steps=20",
    "training.checkpoint.keep_last=9",
    "validation.every_steps=20",
    "validation.max_sentences=4",
    "training.batch_tokens=512",
]
PEAKS = {"slow": 0.001, "quick": 0.006}
SENTENCE = "the red dog sees a house"


def train(root: Path, name: str, *settings: str) -> ForkedCommand:
    words = ("train", "small.toml", f"name={name}", *SHORT, *settings)
    return command_server().start(*words, cwd=root, HEEDFUL_CACHE=str(root / "cache"))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus and two finished runs."""
    folder = tmp_path_factory.mktemp("training")
    write_corpus(folder)
    short = ["training.max_steps=60", "training.log_every=5"]
    processes = [train(folder, name, *short, f"training.schedule.peak={peak}") for name, peak in PEAKS.items()]
    assert [process.wait(timeout=300) for process in processes] == [0, 0]
    return folder


@pytest.fixture(scope="module")
def server(root: Path, chromium: Any) -> Iterator[ServerProcess]:
    with ForkedServer("--model", root / "runs" / "quick", "--runs", root / "runs") as process:
        yield process


def asked(server: ServerProcess, path: str, content: Any = None) -> Any:
    body = None if content is None else json.dumps(content).encode()
    request = urllib.request.Request(server.url + path, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read())


def shown(number: float) -> str:
    """Spell a number as the page does."""
    return f"{round(number):,}" if abs(number) >= 1000 else repr(float(f"{number:.4g}")).removesuffix(".0")


def number_after(page: Any, chart: str) -> list[str]:
    return page.locator(f"[data-chart={chart}] .reading b").all_inner_texts()


def test_points_come_while_a_process_trains(visited: Callable[..., Any], server: ServerProcess, root: Path) -> None:
    process = train(root, "live", "training.max_steps=100000", "training.log_every=2")
    try:
        with visited(server, "?view=training") as page:  # the run may not have begun: it shows when it has
            page.locator(".runs .live").wait_for(timeout=60_000)
            row = page.locator(".runs li", has_text="live")
            assert re.fullmatch(r"training, step [\d,]+ of 100,000", row.locator(".progress").inner_text())
            assert row.get_by_role("checkbox").is_checked()
            chart = page.locator("[data-chart=loss] canvas")
            chart.wait_for()
            before = int(chart.get_attribute("aria-valuemax"))
            while int(chart.get_attribute("aria-valuemax")) < before + 10:
                page.wait_for_timeout(50)
            chart.focus()
            page.keyboard.press("Home")
            page.keyboard.press("ArrowRight")
            first = asked(server, "/api/runs/live/journal")["metrics"][1]
            assert chart.get_attribute("aria-valuenow") == str(first["step"])
            assert number_after(page, "gradient_norm") == [shown(first["gradient_norm"])]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)


def test_all_curves_are_read_at_one_step_and_say_what_was_recorded(
    visited: Callable[..., Any], server: ServerProcess
) -> None:
    rows = asked(server, "/api/runs/quick/journal")["metrics"]
    train_row = next(row for row in rows if row["step"] == 20 and row["kind"] == "train")
    validation_row = next(row for row in rows if row["step"] == 20 and row["kind"] == "validation")
    with visited(server, "?view=training&runs=quick") as page:
        chart = page.locator("[data-chart=learning_rate] canvas")
        chart.focus()
        page.keyboard.press("Home")
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        assert page.inner_text(".at-step") == "step 20"
        expected = [train_row["nll"], train_row["loss"], validation_row["loss"]]
        assert number_after(page, "loss") == [shown(value) for value in expected]
        assert number_after(page, "bleu") == [shown(validation_row["bleu"])]
        assert number_after(page, "learning_rate") == [shown(train_row["learning_rate"])]
        assert number_after(page, "tokens_per_second") == [shown(train_row["timing"]["tokens_per_second"])]
        assert f"validation {shown(validation_row['loss'])}" in page.locator("[data-chart=loss] canvas").get_attribute(
            "aria-valuetext"
        )
        page.keyboard.press("Tab")
        box = page.locator("[data-chart=loss] canvas").bounding_box()
        page.mouse.move(box["x"] + box["width"] - 16, box["y"] + 60)
        assert page.inner_text(".at-step") == "step 60"
        picture = page.locator("[data-chart=loss] canvas").screenshot()
        page.get_by_role("radiogroup", name="Values").get_by_role("radio", name="logarithmic").click()
        page.mouse.move(box["x"] + box["width"] - 16, box["y"] + 60)
        assert page.locator("[data-chart=loss] canvas").screenshot() != picture


def test_runs_are_compared_in_one_picture(visited: Callable[..., Any], server: ServerProcess) -> None:
    with visited(server, "?view=training&runs=quick") as page:
        page.get_by_label("slow", exact=False).focus()
        page.keyboard.press("Space")
        page.locator("[data-chart=bleu] .reading li").nth(1).wait_for()
        assert page.locator("[data-chart=bleu] .reading li").all_inner_texts()[0].startswith("quick")
        last = [asked(server, f"/api/runs/{name}/journal")["metrics"][-1]["bleu"] for name in ("quick", "slow")]
        assert number_after(page, "bleu") == [shown(value) for value in last]
        page.get_by_role("radiogroup", name="Look closer at").get_by_role("radio", name="slow").click()
        page.wait_for_url(re.compile("run=slow"))


def test_the_slider_drives_the_other_views(visited: Callable[..., Any], server: ServerProcess) -> None:
    wanted = {"q": SENTENCE, "source": "en", "target": "de", "run": "quick"}
    text = SENTENCE.replace(" ", "+")
    with visited(server, f"?view=training&runs=quick&text={text}") as page:
        page.get_by_role("slider", name="Checkpoint").focus()
        for step in (40, 20):
            page.keyboard.press("ArrowLeft")
            trace = asked(server, "/api/trace", {**wanted, "checkpoint": step})
            page.locator(".preview .translation[data-status=ready]").wait_for()
            page.get_by_text(f"At step {step} it writes").wait_for()
            assert page.inner_text(".preview .translation") == (trace["target"]["text"].strip() or "(nothing)")
            assert page.inner_text(".preview .facts b") == f"{trace['logProb']:.2f}"
        heat = page.locator(".preview canvas")
        heat.focus()
        page.keyboard.press("ArrowDown")
        assert re.search(r"→ .+: [01]\.\d{3}$", page.inner_text(".preview .caption"))
        page.get_by_text("Look at attention at this step").click()
        page.wait_for_selector("main.attention")
        page.wait_for_url(re.compile("run=quick.*checkpoint=20"))


def test_what_was_written_stands_in_a_table(visited: Callable[..., Any], server: ServerProcess) -> None:
    samples = asked(server, "/api/runs/quick/journal")["samples"]
    with visited(server, "?view=training&runs=quick") as page:
        table = page.locator("table.samples")
        table.wait_for()
        heads = table.locator("thead th").all_inner_texts()[1:]
        assert [head.split("\n")[0] for head in heads] == [one["source"] for one in samples if one["step"] == 20]
        cells = [text.removesuffix(" ✓").strip() for text in table.locator("td").all_inner_texts()]
        assert cells == [one["translation"].strip() for one in samples]
        assert table.locator("mark").count() > 0
        table.get_by_role("button", name="40").click()
        page.wait_for_url(re.compile("checkpoint=40"))


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize(("locale", "heading"), [("en-US", "Curves"), ("zh-CN", "曲线")])
def test_it_fits_in_both_languages(
    visited: Callable[..., Any], server: ServerProcess, width: int, locale: str, heading: str
) -> None:
    with visited(server, "?view=training&runs=quick,slow", width=width, locale=locale, color_scheme="dark") as page:
        page.get_by_role("heading", name=heading, exact=True).wait_for()
        page.wait_for_selector("table.samples")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_without_runs_of_ones_own_it_says_how_to_make_one(visited: Callable[..., Any], tmp_path: Path) -> None:
    model = save_model(tmp_path / "model")
    with (
        ForkedServer("--model", model, "--runs", tmp_path / "none", "--quantize", "none") as server,
        visited(server, "?view=training") as page,
    ):
        assert page.inner_text(".own-run pre") == "heedful train CONFIG\nheedful serve"
