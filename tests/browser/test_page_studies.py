"""Chapters that measure: the small translators that ship, layers timed by the browser, and studies of one's own."""

import json
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from benchmarks.load import ServerProcess

import heedful

pytestmark = pytest.mark.browser
Visit = Callable[..., AbstractContextManager[Any]]
PAGE = Path(heedful.__file__).parent / "serving" / "web"


def test_the_small_translators_are_asked_live(bundled_server: ServerProcess, visited: Visit) -> None:
    names = ["lesson-vector", "lesson-attention", "lesson-transformer"]
    folders = [Path(heedful.__file__).parent / "assets" / "lessons" / name.removeprefix("lesson-") for name in names]
    assert sum(file.stat().st_size for folder in folders for file in folder.iterdir()) <= 3_000_000
    short = "Where is the next station?"
    with visited(bundled_server, "?view=learn&chapter=2") as page:
        page.locator(".paragraph .at").nth(4).click()
        for name in names[:2]:
            page.wait_for_selector(f"aside [data-lesson={name}][data-ready=true]")
        found = page.locator("aside [data-lesson] strong").all_inner_texts()
        assert "Berlin" in found[1], "attention finds the name in a long sentence"
        assert "Berlin" not in found[0], "one vector has lost it"
        page.locator("aside textarea").fill(short)
        page.locator("aside [data-lesson] strong", has_text="?").nth(1).wait_for()
        shown = page.locator("aside [data-lesson] strong").all_inner_texts()
        assert shown == [heedful.load(name).translate(short) for name in names[:2]]
        assert page.locator("aside canvas").count() == 1, "the one with attention has a map"


def test_a_reader_measures_layers_and_opens_own_studies(
    bundled_server: ServerProcess, visited: Visit, tmp_path: Path
) -> None:
    with visited(bundled_server, "?view=learn&chapter=16") as page:
        page.locator("aside [role=radio]", has_text="d = 32").click()
        page.locator("aside [data-race]").focus()
        page.keyboard.press("Enter")
        page.wait_for_selector("aside [data-race=done]", timeout=60_000)
        lines = page.locator("aside [data-line] polyline")
        assert [len(line.get_attribute("points").split()) for line in lines.all()] == [6, 6]
        met = re.search(r"from n = (\d+) on", page.locator("aside figcaption").inner_text())
        assert met is not None
        assert 8 <= int(met[1]) <= 256, "by multiplications it is 32"
        page.locator(".paragraph .at").nth(3).click()
        page.wait_for_selector("aside .chart")
        shipped = json.loads((PAGE / "chapters" / "studies" / "complexity.json").read_text())
        assert shipped["measured_on"]["date"] in page.locator("aside .measured-on").inner_text()
        own = {**shipped, "cells": [{**cell, "width": 8} for cell in shipped["cells"] if cell["width"] == 64]}
        (tmp_path / "report.json").write_text(json.dumps(own))
        page.locator("aside input[type=file]").set_input_files(tmp_path / "report.json")
        page.locator("aside [role=radio]", has_text="d = 8").wait_for()
        assert "report.json" in page.locator("aside .measured-on").inner_text()
        (tmp_path / "other.json").write_text('{"report": "gradients"}')
        page.locator("aside input[type=file]").set_input_files(tmp_path / "other.json")
        assert "other.json" in page.locator("aside .refusal").inner_text()
        page.locator("aside .opener button").click()
        page.locator("aside [role=radio]", has_text="d = 256").wait_for()
