import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect, sync_playwright

from tests.browser.world import OPERATOR, Site, crowd, served, shop
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
_PATIENCE_MS: Final = 120_000
"""A wait ends as soon as its condition holds; the limit is for a busy machine."""
expect.set_options(timeout=_PATIENCE_MS)
_EXPECTED: Final = re.compile("net::ERR_NETWORK_CHANGED|status of 409|Status Error Code 409")
"""Chromium aborts requests when an interface comes or goes, as those of containers do; the page asks again. The API
answers 409 to a change that contradicts the configuration, and the page shows why."""
PASSWORD = "correct horse"
Open = Callable[..., Page]
"""See `open_page` below."""


@dataclass(frozen=True)
class Address:
    """A site, or a file, that a page is opened from."""

    url: str


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Debian's Chromium. No other browser is downloaded."""
    program = shutil.which("chromium")
    if program is None:
        require("chromium is not on the PATH; apt install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Nine autoscalers in different states after an hour of decisions."""
    with served(tmp_path_factory.mktemp("shop"), shop) as site:
        yield site


@pytest.fixture(scope="package")
def with_users(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The same after five minutes, with an operator."""
    with served(tmp_path_factory.mktemp("users"), partial(shop, minutes=5), users={OPERATOR: PASSWORD}) as site:
        yield site


@pytest.fixture(scope="package")
def crowded(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Three hundred autoscalers with two decisions each."""
    with served(tmp_path_factory.mktemp("crowd"), partial(crowd, count=300, seconds=16)) as site:
        yield site


def watch(page: Page, problems: list[str]) -> None:
    """Add to `problems` what goes wrong in the page: errors, warnings, breaches of the Content-Security-Policy."""

    def said(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not _EXPECTED.search(message.text):
            problems.append(f"{message.type}: {message.text}")

    page.add_init_script(
        'addEventListener("securitypolicyviolation", (each) =>'
        " console.error(`policy: ${each.violatedDirective} ${each.sourceFile}`))"
    )
    page.on("console", said)
    page.on("pageerror", lambda error: problems.append(str(error)))


@pytest.fixture
def opened(browser: Browser) -> Iterator[Open]:
    """Opens pages. The test fails for an error in the console, a breach of the page's policy, or a foreign request."""
    with _opening(browser) as open_page:
        yield open_page


@pytest.fixture(scope="module")
def opened_once(browser: Browser) -> Iterator[Open]:
    """Opens pages that tests of a file share; the last of them fails for what is wrong with any."""
    with _opening(browser) as open_page:
        yield open_page


@contextmanager
def _opening(browser: Browser) -> Iterator[Open]:
    contexts: list[BrowserContext] = []
    problems: list[str] = []

    def requested(request: Request, site: Site | Address) -> None:
        more_than_the_file = request.url.startswith("file:") and not request.is_navigation_request()
        if urlsplit(request.url).netloc != urlsplit(site.url).netloc or more_than_the_file:
            problems.append(f"request for {request.url}")

    def open_page(
        site: Site | Address,
        path: str = "/",
        *,
        scheme: str = "light",
        width: int = 1280,
        height: int = 900,
        scripts: bool = True,
        zone: str = "UTC",
        user: str | None = None,
    ) -> Page:
        """Open a path. `scheme`: light or dark. `zone`: the browser's time zone. `user`: logs in with PASSWORD."""
        context = browser.new_context(
            viewport={"width": width, "height": height},
            timezone_id=zone,
            color_scheme="dark" if scheme == "dark" else "light",
            java_script_enabled=scripts,
            http_credentials=None if user is None else {"username": user, "password": PASSWORD},
            offline=site.url.startswith("file:"),
        )
        contexts.append(context)
        context.set_default_timeout(_PATIENCE_MS)
        page = context.new_page()
        watch(page, problems)
        page.on("request", lambda request: requested(request, site))
        page.goto(site.url + path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []
