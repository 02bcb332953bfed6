"""The pictures of the page in docs/pictures, taken again: the real server, the real browser.

python docs/take_pictures.py
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Page, sync_playwright

import heedful
from heedful.insight.ablation import head_changes
from heedful.insight.attribution import attribute
from heedful.insight.html import render_page

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from load import ServerProcess

FOLDER = Path(__file__).parent / "pictures"
PATIENCE = 180_000  # milliseconds: a busy machine may take minutes to switch heads off
SENTENCE = "text=I+have+lost+my+keys+this+morning.&source=en&target=de"
VIEWS = {
    "translate": (SENTENCE, ".pane, main"),
    "attention": (f"{SENTENCE}&head=0&held=6", ".grid button"),
    "decoding": (f"{SENTENCE}&step=3", ".tree g"),
    "positions": ("target=de", "canvas"),
    "heads": (f"{SENTENCE}&off=cross.1.4,cross.1.0,cross.1.1", "button"),
    "training": ("run=example&checkpoint=1250&target=de", "canvas"),
    "learn": ("chapter=3", "figure, canvas, main"),
}


def take(page: Page, url: str, name: str, waits_for: str) -> None:
    """Open a view, let it settle, and keep what one sees."""
    page.set_default_timeout(PATIENCE)
    page.goto(url)
    page.wait_for_selector(waits_for)
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(1500)
    page.screenshot(path=FOLDER / f"{name}.png", full_page=True)


def take_file(page: Page) -> None:
    """Take the file that `heedful explain` writes, opened from disk."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "station.html"
        text = "Where is the nearest station, please?"
        model = heedful.load()
        trace = model.translate(text, to="de", trace=True)
        attribution, changes = attribute(model.readable_model, trace), head_changes(model, trace)
        file.write_text(render_page(trace, attribution=attribution, changes=changes), encoding="utf-8")
        take(page, file.as_uri(), "explained", ".grid button")


def main() -> None:
    """Take every view: wide and light, and one each in Chinese, in the dark and on a phone."""
    FOLDER.mkdir(exist_ok=True)
    with (
        TemporaryDirectory() as no_runs,
        ServerProcess("--runs", no_runs, "--deadline", str(PATIENCE // 1000)) as server,
        sync_playwright() as tools,
    ):
        browser = tools.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        wide = browser.new_page(viewport={"width": 1280, "height": 860}, locale="en-US")
        for view, (query, waits_for) in VIEWS.items():
            take(wide, f"{server.url}/?view={view}&{query}", view, waits_for)
        chinese = browser.new_page(viewport={"width": 1280, "height": 860}, locale="zh-CN", color_scheme="dark")
        query, waits_for = VIEWS["decoding"]
        take(chinese, f"{server.url}/?view=decoding&{query}", "decoding-zh-dark", waits_for)
        phone = browser.new_page(viewport={"width": 390, "height": 844}, locale="en-US", device_scale_factor=2)
        query, waits_for = VIEWS["translate"]
        take(phone, f"{server.url}/?view=translate&{query}", "translate-phone", waits_for)
        take_file(browser.new_page(viewport={"width": 1280, "height": 860}, locale="en-US"))
        browser.close()


if __name__ == "__main__":
    main()
