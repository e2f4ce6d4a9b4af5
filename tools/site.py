"""Hooks of mkdocs, which make a site of the repository's documents (`hooks` in mkdocs.yml).

The documents are written to be read in the repository, and stay as they are:

- README.md, CONTRIBUTING.md, SECURITY.md and CHANGELOG.md become pages, README.md the first one.
- A link to a file or a folder outside of docs/ leads to a page that shows it, so that the site needs no other host.
- A line `<!-- commands: … -->` becomes the help of every command, `<!-- metrics: … -->` the list of metrics, and
  `<!-- keys: … -->` the list of the configuration's keys.
"""

import html
import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from tests.metrics.reference import reference
from tools.extras import commands
from tools.keys import key_list

ROOT: Final = Path(__file__).resolve().parents[1]
PAGES: Final = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security-policy.md",
}
"""Documents outside of docs/ -> their pages."""
_LINK: Final = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)")
"""The path in a Markdown link, without its anchor; not an address."""
_NAMED: Final = re.compile(r"\[[\w/-]+\.md\](?=\(([^)#\s]+))")
"""A link whose text is a document's name."""
_PICTURE: Final = re.compile(r'(?<=src=")docs/|(?<=srcset=")docs/')
_GENERATED: Final = re.compile(r"^<!-- (commands|keys|metrics): .*-->$", re.MULTILINE)
_HIDDEN: Final = ("__pycache__", "__init__.py")
_LANGUAGES: Final = {".conf": "ini", ".json": "json", ".py": "python", ".service": "ini", ".yaml": "yaml"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in docs/."""
    for document, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / document).read_text()))
    wanted = {path for document in _documents() for path in _outside(document)}
    for path in sorted({inner for outer in wanted for inner in _within(outer)}):
        files.append(File.generated(config, _page_of(path), content=_source(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - mkdocs passes them by name
    """Return the text with links to pages of the site, with their titles, instead of the repository's files."""
    here = page.file.src_uri
    document = _document_of(here)
    if document is None:
        return markdown
    markdown = _GENERATED.sub(_generated, _PICTURE.sub("", markdown))
    markdown = _NAMED.sub(lambda link: f"[{_title(_repository_path(document, link[1]))}]", markdown)
    return _LINK.sub(lambda link: _relative(_page_of(_repository_path(document, link[1])), here), markdown)


def _generated(mark: re.Match[str]) -> str:
    match mark[1]:
        case "metrics":
            return reference()
        case "keys":
            return key_list()
        case _:
            return "\n".join(_command_help())


def _command_help() -> Iterator[str]:
    """Return the help of every command as lines of Markdown."""
    for command in commands():
        yield f"### {command.name}\n\n    autoscaler {command.name} {command.usage}\n"
        yield from (f"{_plain(paragraph)}\n" for paragraph in command.help.split("\n\n"))
        yield "| | |\n|---|---|"
        yield from (f"| `{name}` | {_plain(meaning)} |" for name, meaning in command.parameters.items())
        yield ""


def _plain(text: str) -> str:
    """Return help that Markdown shows unchanged, except for `code`."""
    return html.escape(" ".join(text.split()), quote=False).replace("|", r"\|")


def _documents() -> list[str]:
    return [*PAGES, *(str(file.relative_to(ROOT)) for file in (ROOT / "docs").rglob("*.md"))]


def _document_of(page: str) -> str | None:
    """Return the path of the document that a page shows; None for a page that shows a source file."""
    if page.startswith("source/"):
        return None
    return next((document for document, name in PAGES.items() if name == page), f"docs/{page}")


def _outside(document: str) -> Iterator[str]:
    """Return the paths of files that a document links to and that are no documents."""
    for link in _LINK.findall((ROOT / document).read_text()):
        path = _repository_path(document, link)
        if path not in PAGES and not path.startswith("docs/") and (ROOT / path).exists():
            yield path


def _repository_path(document: str, link: str) -> str:
    return os.path.normpath(PurePosixPath(document).parent / link)


def _page_of(path: str) -> str:
    """Return the place in the site of the file at `path` in the repository."""
    if path in PAGES:
        return PAGES[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"source/{path}/index.md" if (ROOT / path).is_dir() else f"source/{path}.md"


def _title(document: str) -> str:
    """Return a document's heading, up to a colon; the file's name if the document does not exist yet."""
    file = ROOT / document
    heading = file.read_text().partition("\n")[0] if file.exists() else file.name
    return heading.removeprefix("# ").partition(":")[0]


def _within(path: str) -> Iterator[str]:
    """Return the path, and everything in it if it is a folder."""
    yield path
    if (ROOT / path).is_dir():
        for entry in sorted((ROOT / path).iterdir()):
            if entry.name not in _HIDDEN:
                yield from _within(f"{path}/{entry.name}")


def _source(path: str) -> str:
    """Return the Markdown of a page that shows a file or lists a folder."""
    there = ROOT / path
    head = f"---\ntitle: {path}\nsearch: {{exclude: true}}\n---\n\n# {path}\n\n"
    if there.is_dir():
        inner = (inner for inner in _within(path) if not (ROOT / inner).is_dir())
        return head + "".join(f"- [{name}]({_relative(_page_of(name), _page_of(path))})\n" for name in inner)
    return f"{head}``````{_LANGUAGES.get(there.suffix, 'text')}\n{there.read_text().rstrip()}\n``````\n"


def _relative(page: str, start: str) -> str:
    return os.path.relpath(page, PurePosixPath(start).parent)
