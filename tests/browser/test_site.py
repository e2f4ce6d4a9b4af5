"""The documentation as a site, in the browser."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open
from tests.packaging.site import build

_TYPED_AT_MOST: Final = 10
"""Times that a word is typed into the search: before its script runs, nothing comes of it."""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Say nothing of each request."""


@dataclass(frozen=True)
class Documents:
    url: str


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Documents]:
    folder: Path = tmp_path_factory.mktemp("documents")
    built = build(folder)
    assert built.returncode == 0, built.stdout
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield Documents(f"http://127.0.0.1:{server.server_port}")
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_word_is_found(documents: Documents, opened: Open, scheme: str) -> None:
    """The index and the worker that searches it come from the site itself; `opened` fails for any other host."""
    page = opened(documents, "/index.html", scheme=scheme)
    box, found = page.get_by_role("textbox", name="Search"), page.locator(".md-search-result__link").first
    for _ in range(_TYPED_AT_MOST):
        box.fill("")
        box.fill("downscaleStabilization")
        with suppress(AssertionError):
            expect(found).to_be_visible(timeout=5_000)
            break
        page.reload()  # on a busy machine the site's search now and then does not begin
    expect(found).to_be_visible()


@pytest.mark.parametrize(
    "path", ["/index.html", "/configuration.html", "/coming-from.html", "/source/config/index.html"]
)
def test_a_phone_scrolls_a_page_down_only(documents: Documents, opened: Open, path: str) -> None:
    """What is wider (a table, an example) scrolls in its place."""
    page = opened(documents, path, width=375)
    widths = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert widths[0] <= widths[1]


def test_a_picture_is_there_in_either_colour(documents: Documents, opened: Open) -> None:
    """The README's picture stands in HTML, whose paths mkdocs does not follow."""
    for scheme in ("light", "dark"):
        page = opened(documents, "/index.html", scheme=scheme)
        pictures = page.locator("article img")
        expect(pictures.first).to_be_visible()
        pictures.evaluate_all("all => all.forEach(one => one.scrollIntoView())")
        sizes = pictures.evaluate_all("all => Promise.all(all.map(one => one.decode().then(() => one.naturalWidth)))")
        assert sizes
        assert min(sizes) > 0
