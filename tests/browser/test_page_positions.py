"""The view "positions" in a real browser: the numbers it says are those of the model's own table."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import pytest
import torch
from benchmarks.load import ServerProcess

from heedful.config.models import LearnedPositions, NoPositions
from heedful.insight.wire import from_array
from heedful.models import build_model
from heedful.storage.descriptions import TranslatorDescription
from heedful.storage.model_folder import ModelFolder, save_model_folder, weights_of
from tests.support.forked_server import ForkedServer
from tests.support.tiny_models import make_model

pytestmark = pytest.mark.browser

READY = "section canvas"


def table_of(server: ServerProcess, name: str = "table", **query: Any) -> np.ndarray:
    asked = "&".join(f"{key}={value}" for key, value in query.items())
    with urlopen(f"{server.url}/api/positions?{asked}") as response:
        return from_array(json.load(response)[name])


def signed(value: float) -> str:
    return f"{'−' if value < 0 else '+'}{abs(value):.3f}"


def with_positions(positions: LearnedPositions | NoPositions) -> ModelFolder[TranslatorDescription]:
    """A tiny model, drawn anew with other positions."""
    folder = make_model()
    config = folder.description.model.model_copy(update={"positions": positions})
    model = build_model(
        config,
        source_vocab_size=folder.description.source_vocab_size,
        target_vocab_size=folder.description.target_vocab_size,
        pad_id=folder.description.special_ids.pad,
        generator=torch.Generator().manual_seed(1),
    )
    return replace(folder, description=folder.description.changed(model=config), weights=weights_of(model))


@pytest.fixture(scope="module")
def other_server(tmp_path_factory: pytest.TempPathFactory, chromium: Any) -> Iterator[ServerProcess]:
    root: Path = tmp_path_factory.mktemp("models")
    save_model_folder(root / "learned", with_positions(LearnedPositions(kind="learned", max_len=40)))
    save_model_folder(root / "bag", with_positions(NoPositions(kind="none")))
    with ForkedServer("--model", root / "learned", "--model", root / "bag") as process:
        yield process


@pytest.mark.parametrize(("width", "scheme"), [(1440, "dark"), (390, "light")])
def test_all_pictures_are_there_and_fit(
    bundled_server: ServerProcess, visited: Callable[..., Any], width: int, scheme: str
) -> None:
    with visited(bundled_server, "?view=positions", width=width, color_scheme=scheme) as page:
        page.wait_for_selector(READY)
        assert page.locator("section").count() == 3
        assert page.locator("section canvas").count() == 2
        assert page.locator(".curve path.own").count() == 2
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_pointing_says_the_number_and_a_click_shows_the_wave(
    bundled_server: ServerProcess, visited: Callable[..., Any]
) -> None:
    table = table_of(bundled_server, length=64, side="source")
    with visited(bundled_server, "?view=positions") as page:
        page.wait_for_selector(READY)
        box = page.locator("section canvas").first.bounding_box()
        column = (box["width"] - 42) / table.shape[1]
        row = (box["height"] - 36) / table.shape[0]
        at = {"x": 40 + 30.5 * column, "y": 34 + 12.5 * row}
        page.locator("section canvas").first.hover(position=at)
        said = page.locator(".caption").first
        assert said.inner_text() == f"Position 12, dimension 30: {signed(table[12, 30])}"
        page.locator("section canvas").first.click(position=at)
        assert "Dimension 30 is a sine." in page.inner_text("section >> nth=1")
        assert f"Position 12, dimension 30: {signed(table[12, 30])}" in page.inner_text("section >> nth=1")
        assert "dimension=30" in page.url
        wavelength = 2 * np.pi * 10000 ** (30 / table.shape[1])
        assert f"every {wavelength:.1f} positions" in page.inner_text("section >> nth=1")


def test_the_keyboard_moves_the_mark(bundled_server: ServerProcess, visited: Callable[..., Any]) -> None:
    table = table_of(bundled_server, length=64, side="target")
    likeness = table_of(bundled_server, "similarity", length=64, side="target")
    with visited(bundled_server, "?view=positions&side=target&position=5&dimension=7", locale="zh-CN") as page:
        page.wait_for_selector(READY)
        assert page.inner_text("h1") == "词元站在哪里"
        page.locator("section canvas").first.focus()
        for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowUp"):
            page.keyboard.press(key)
        assert page.locator(".caption").first.inner_text() == f"位置 6，维度 8：{signed(table[6, 8])}"
        page.get_by_role("slider", name="维度").focus()
        page.keyboard.press("ArrowRight")
        assert "维度 9 是余弦" in page.inner_text("section >> nth=1")
        page.locator("section canvas").nth(1).focus()
        page.keyboard.press("ArrowRight")
        assert f"位置 6 与位置 7：{signed(likeness[6, 7])}" in page.inner_text("section >> nth=2")


def test_sides_lengths_orders_and_miniatures_can_be_chosen(
    bundled_server: ServerProcess, visited: Callable[..., Any]
) -> None:
    table = table_of(bundled_server, length=64, side="target")
    with visited(bundled_server, "?view=positions&position=3&dimension=1", width=390) as page:
        page.wait_for_selector(READY)
        page.get_by_role("radio", name="target").click()
        page.get_by_role("radio", name="sines first").click()
        caption = page.locator(".caption").first
        assert caption.inner_text() == f"Position 3, dimension 1: {signed(table[3, 1])}"
        page.locator("section canvas").first.focus()
        page.keyboard.press("ArrowRight")  # the cosines are neighbours now
        assert caption.inner_text() == f"Position 3, dimension 3: {signed(table[3, 3])}"
        page.locator(".miniatures button").nth(2).click()
        assert f"Dimension {2 * (table.shape[1] // 8)} is a sine" in page.inner_text("section >> nth=1")
        page.get_by_role("slider", name="positions").fill("32")
        page.wait_for_url("**positions=32**")
        assert "side=target" in page.url
        assert "order=sorted" in page.url


def test_a_learned_table_is_shown_as_it_is(other_server: ServerProcess, visited: Callable[..., Any]) -> None:
    table = table_of(other_server, model="learned", length=64, side="source")
    assert table.shape[0] == 40
    with visited(other_server, "?view=positions&model=learned&position=39&dimension=31") as page:
        page.wait_for_selector(READY)
        assert "learned in training" in page.inner_text(".lead")
        assert page.locator(".caption").first.inner_text() == f"Position 39, dimension 31: {signed(table[39, 31])}"
        assert page.locator(".curve path.other").count() == 0


def test_a_model_without_positions_says_so(other_server: ServerProcess, visited: Callable[..., Any]) -> None:
    with visited(other_server, "?view=positions&model=bag") as page:
        assert page.locator(".none").inner_text().startswith("This model adds no positions at all.")
        assert page.locator("canvas").count() == 0
    with visited(other_server, "?view=positions&model=bag&language=zh", width=390) as page:
        assert "一袋词元" in page.locator(".none").inner_text()
