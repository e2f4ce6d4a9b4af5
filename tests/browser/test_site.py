"""The site of the documentation, in a browser."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Address, Open
from tests.browser.pages import scrolls_sideways
from tests.packaging.site import build

pytestmark = pytest.mark.slow
_ATTEMPTS: Final = 10
"""How often the test types a word into the search. It has no effect before the site's script runs."""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Log no requests."""


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    folder: Path = tmp_path_factory.mktemp("documents")
    built = build(folder)
    assert built.returncode == 0, built.stdout
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield Address(f"http://127.0.0.1:{server.server_port}")
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_search_finds_a_word(documents: Address, opened: Open) -> None:
    """The index and the search worker come from the site itself: `opened` fails for another host."""
    page = opened(documents, "/index.html")
    box, found = page.get_by_role("textbox", name="Search"), page.locator(".md-search-result__link").first
    for _ in range(_ATTEMPTS):
        box.fill("")
        box.fill("downscaleStabilization")
        with suppress(AssertionError):
            expect(found).to_be_visible(timeout=20_000)
            break
        page.reload()  # on a busy machine the site's search sometimes does not start
    expect(found).to_be_visible()


def test_a_phone_does_not_scroll_a_page_sideways(documents: Address, opened: Open) -> None:
    """A wide table or example scrolls inside the page."""
    page = opened(documents, "/index.html", width=375)
    for path in ("index", "configuration", "coming-from", "source/config/examples/index"):
        page.goto(f"{documents.url}/{path}.html")
        assert not scrolls_sideways(page), path


def test_the_pictures_of_both_colour_schemes_load(documents: Address, opened: Open) -> None:
    """README names them in HTML, whose links mkdocs does not check."""
    for scheme in ("light", "dark"):
        page = opened(documents, "/index.html", scheme=scheme)
        pictures = page.locator("article img")
        expect(pictures.first).to_be_visible()
        pictures.evaluate_all("all => all.forEach(one => one.scrollIntoView())")
        sizes = pictures.evaluate_all("all => Promise.all(all.map(one => one.decode().then(() => one.naturalWidth)))")
        assert sizes
        assert min(sizes) > 0
