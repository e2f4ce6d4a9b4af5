import json
import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from autoscaler.cli.app import COMMANDS
from tests.metrics.exposed import everything
from tests.packaging.site import ROOT, build

pytestmark = pytest.mark.slow


class Page(HTMLParser):
    """The links, loaded files, anchors and paragraphs of a page of the site."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = {""}
        self.paragraphs: list[str] = []
        self._in_paragraph = False
        self.feed(file.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.anchors.add(value or "")
            elif name == "href" and tag == "a":
                self.links.append(value or "")
            elif name in ("src", "href", "srcset", "data", "poster", "action"):
                self.loads.append((value or "").split(" ")[0])
        if tag == "p":
            self._in_paragraph = True
            self.paragraphs.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == "p":
            self._in_paragraph = False

    def handle_data(self, data: str) -> None:
        if self._in_paragraph:
            self.paragraphs[-1] += data


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = build(folder)
    assert built.returncode == 0, built.stdout
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {file: Page(file) for file in site.rglob("*.html") if file.name != "404.html"}  # its links begin at the root


def test_every_document_is_a_page_of_the_site(site: Path) -> None:
    documents = {str(file.relative_to(ROOT / "docs").with_suffix(".html")) for file in (ROOT / "docs").rglob("*.md")}
    further = {"index.html", "changelog.html", "contributing.html", "security-policy.html"}
    assert documents | further <= {str(file.relative_to(site)) for file in site.rglob("*.html")}


def test_nothing_is_loaded_from_another_host(site: Path, pages: dict[Path, Page]) -> None:
    """The site works without internet access, and no other host learns who reads it."""
    outside = {load for page in pages.values() for load in page.loads if urlsplit(load).netloc}
    assert outside == set()
    styles = [file.read_text() for file in site.rglob("*.css")]
    assert styles
    assert [
        found for style in styles for found in re.findall(r"(?:url\(|@import)[\s\"']*(?:https?:)?//[^)]*", style)
    ] == []


def test_every_link_within_the_site_has_a_target(pages: dict[Path, Page]) -> None:
    """This includes the menus, files and pictures of mkdocs."""
    assert [f"{file.name}: {link}" for file, page in pages.items() for link in _broken(file, page, pages)] == []


def test_no_list_and_no_table_is_shown_as_a_paragraph(pages: dict[Path, Page]) -> None:
    """The repository's viewer accepts a missing empty line; the site would show the marks."""
    marks = re.compile(r"\n\s*(?:[-*] |\d+\. |\||```)")
    assert [text for page in pages.values() for text in page.paragraphs if marks.search(text)] == []


def test_the_page_of_the_command_line_has_the_help_of_every_command(site: Path, pages: dict[Path, Page]) -> None:
    """tools/site.py generates it."""
    assert set(COMMANDS) <= pages[site / "cli.html"].anchors


def test_the_page_of_metrics_lists_every_metric(site: Path) -> None:
    """tools/site.py generates the list."""
    page = (site / "metrics.html").read_text()
    names = {metric.name for metric in everything().registry.collect()}
    assert "autoscaler_writes" in names
    assert [name for name in names if name.startswith("autoscaler_") and name not in page] == []


def test_the_page_of_the_configuration_lists_every_key(site: Path) -> None:
    """tools/keys.py generates the list from the JSON Schema."""
    page = (site / "configuration.html").read_text()
    schema = json.loads((ROOT / "config/autoscaler.schema.json").read_text())
    objects = [schema, *schema["$defs"].values()]
    names = {name for each in objects for name in each.get("properties", {})}
    assert len(names) > 100
    assert [name for name in sorted(names) if not re.search(rf"[>.]{name}</code>", page)] == []


def test_an_anchor_that_does_not_exist_fails_the_build(tmp_path: Path) -> None:
    """A heading cannot be renamed without the links to it."""
    for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "mkdocs.yml"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("docs", "config", "systemd", "tools"):
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    with (tmp_path / "docs" / "page.md").open("a") as page:
        page.write("\n[no such heading](running.md#no-such-heading)\n")
    built = build(tmp_path / "site", tmp_path)
    assert built.returncode == 1
    assert "running.md#no-such-heading" in built.stdout


def _broken(file: Path, page: Page, pages: dict[Path, Page]) -> Iterator[str]:
    for link in [*page.links, *page.loads]:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        there = (file.parent / unquote(parts.path)).resolve() if parts.path else file
        if not there.is_file() or (there in pages and unquote(parts.fragment) not in pages[there].anchors):
            yield link
