"""A real Chromium, the system's own. Without one these tests are skipped; with HEEDFUL_REQUIRE_BROWSER they fail."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from benchmarks.load import ServerProcess

from tests.support.forked_server import ForkedServer

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="session")
def executable() -> str:
    """Where the browser is."""
    if CHROMIUM is None:
        absent = pytest.fail if os.environ.get("HEEDFUL_REQUIRE_BROWSER") else pytest.skip
        absent("there is no Chromium; as root, `make browser` installs it")
    return CHROMIUM


@pytest.fixture(scope="module")
def chromium(executable: str) -> Iterator[Any]:
    """The browser, for one file: Playwright keeps an event loop, beside which other tests cannot run theirs."""
    playwright = pytest.importorskip("playwright.sync_api")
    arguments = ["--no-sandbox"] if os.getuid() == 0 else []
    with playwright.sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=executable, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium: Any) -> Callable[..., Any]:
    """Open a file for the time of a block, at whose end nothing must have been complained about or asked for."""

    @contextmanager
    def open_file(path: Path, *, width: int = 1440, **options: Any) -> Iterator[Any]:
        page = chromium.new_page(viewport={"width": width, "height": 900}, **options)
        complaints: list[str] = []
        requests: list[str] = []
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri())
        yield page
        page.close()
        assert complaints == []
        assert [url for url in requests if url != path.as_uri() and not url.startswith("data:")] == []

    return open_file


@pytest.fixture(scope="session")
def bundled_server(executable: str) -> Iterator[ServerProcess]:
    """`heedful serve` with the model that ships with the package, as after installation."""
    with ForkedServer() as process:
        yield process


@pytest.fixture
def visited(chromium: Any) -> Callable[..., Any]:
    """Visit a server's page for the time of a block; at its end nothing must have been complained about, and nothing
    asked of any other machine."""

    @contextmanager
    def visit(
        server: ServerProcess,
        query: str = "",
        *,
        width: int = 1440,
        allow: str = "",
        waits_for: str = "main.view",
        **options: Any,
    ) -> Iterator[Any]:
        """Open `/` + query; `allow` is text of console messages that are to be expected (of a refused request)."""
        page = chromium.new_page(viewport={"width": width, "height": 900}, **options)
        complaints: list[str] = []
        requests: list[str] = []
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(f"{server.url}/{query}")
        page.wait_for_selector(waits_for)
        yield page
        page.close()
        assert [one for one in complaints if not (allow and allow in one)] == []
        assert [url for url in requests if not url.startswith((server.url, "blob:"))] == []

    return visit
