"""The page of /docs in a real browser: complete, from this machine alone, and text stays text."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from benchmarks.load import ServerProcess

from ..unit.tasks.tiny_models import save_model

pytestmark = pytest.mark.browser
MARKUP = "<img src=x onerror=alert(1)><script>alert(2)</script>"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, chromium: Any) -> Iterator[ServerProcess]:
    folder = save_model(tmp_path_factory.mktemp("model") / "tiny", languages=("de", "en"))
    with ServerProcess("--model", folder) as process:
        yield process


@pytest.mark.parametrize("width", [1440, 390])
def test_the_page_describes_every_route_and_sends_requests(chromium: Any, server: ServerProcess, width: int) -> None:
    page = chromium.new_page(viewport={"width": width, "height": 900})
    complaints: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(f"{server.url}/docs")
    page.wait_for_selector("section")
    titles = page.locator("h2").all_inner_texts()
    assert {"POST /translate", "GET /languages", "POST /detect", "POST /api/trace", "GET /metrics"} <= set(titles)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    section = page.locator("section", has_text="POST /translate").first
    section.locator("summary", has_text="Try it").click()
    section.locator("textarea").fill(json.dumps({"q": MARKUP, "source": "en", "target": "en"}))
    section.get_by_role("button", name="Send").click()
    section.locator("pre", has_text="200").wait_for()
    assert MARKUP.replace('"', '\\"') in section.locator("pre").inner_text()
    assert page.locator("img").count() == 0
    page.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith(server.url)] == []
