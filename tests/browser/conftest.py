import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect, sync_playwright

from tests.browser.world import OPERATOR, Served, crowd, served, shop
from tests.servers.required import require

ARGUMENTS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_PATIENCE_MS: Final = 30_000
"""A busy machine is slow; whatever is waited for ends the waiting as soon as it is there."""
expect.set_options(timeout=_PATIENCE_MS)
READER, PASSWORD = "scraper", "correct horse"
Open = Callable[..., Page]
"""path, scheme="light" or "dark", width=1280, height=900, scripts=True, zone="UTC", user=None -> the opened page."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Debian's Chromium; no other browser is fetched."""
    program = shutil.which("chromium")
    if program is None:
        require("chromium is not on the PATH; apt install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Nine autoscalers in different states, an hour of decisions behind them."""
    with served(tmp_path_factory.mktemp("shop"), shop) as site:
        yield site


@pytest.fixture(scope="package")
def with_users(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The same with an operator and a reader."""
    users = dict.fromkeys((OPERATOR, READER), PASSWORD)
    with served(tmp_path_factory.mktemp("users"), shop, users=users) as site:
        yield site


@pytest.fixture(scope="package")
def crowded(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Two thousand that have decided twice."""
    with served(tmp_path_factory.mktemp("crowd"), partial(crowd, seconds=16)) as site:
        yield site


@pytest.fixture
def opened(browser: Browser) -> Iterator[Open]:
    """Opens pages; fails the test for any error in the console, a breach of the page's policy, or a foreign request."""
    contexts: list[BrowserContext] = []
    problems: list[str] = []

    def said(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            problems.append(f"{message.type}: {message.text}")

    def asked(request: Request, site: Served) -> None:
        if urlsplit(request.url).netloc != urlsplit(site.url).netloc:
            problems.append(f"asked for {request.url}")

    def open_page(
        site: Served,
        path: str = "/",
        *,
        scheme: str = "light",
        width: int = 1280,
        height: int = 900,
        scripts: bool = True,
        zone: str = "UTC",
        user: str | None = None,
    ) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            timezone_id=zone,
            color_scheme="dark" if scheme == "dark" else "light",
            java_script_enabled=scripts,
            http_credentials=None if user is None else {"username": user, "password": PASSWORD},
        )
        contexts.append(context)
        context.set_default_timeout(_PATIENCE_MS)
        page = context.new_page()
        page.on("console", said)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: asked(request, site))
        page.goto(site.url + path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []
