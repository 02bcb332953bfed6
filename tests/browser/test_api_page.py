"""The page of /docs in a real browser: complete, from this machine alone, and text stays text."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from benchmarks.load import ServerProcess

from tests.support.forked_server import ForkedServer
from tests.support.tiny_models import save_model

pytestmark = pytest.mark.browser
MARKUP = "<img src=x onerror=alert(1)><script>alert(2)</script>"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, chromium: Any) -> Iterator[ServerProcess]:
    folder = save_model(tmp_path_factory.mktemp("model") / "tiny", languages=("de", "en"))
    with ForkedServer("--model", folder) as process:
        yield process


@pytest.mark.parametrize("width", [1440, 390])
def test_the_page_describes_every_route_and_sends_requests(visited: Any, server: ServerProcess, width: int) -> None:
    with visited(server, "docs", width=width, waits_for="section") as page:
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
