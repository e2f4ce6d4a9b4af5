"""Reads a quickstart page and follows it.

A page consists of fenced blocks: commands (`sh`), the output of the commands before (`text`), and files (any other
language), each after a line that ends with the name of the file: "`/etc/web.yaml`:".
"""

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

DOCS: Final = Path(__file__).resolve().parents[2] / "docs"
_EXAMPLES: Final = "/usr/share/doc/prometheus-autoscaler/examples"
WEB_SERVER: Final = {f"{_EXAMPLES}/quickstart": str(DOCS.parent / "config/examples/quickstart")}
"""The folder of the pages' web server in the package -> in the source tree."""
DROP_INS: Final = {f"{_EXAMPLES}/autoscaler.service.d": str(DOCS.parent / "systemd/autoscaler.service.d")}
"""The same for the drop-ins of the service."""
_FENCE: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NAME: Final = re.compile(r"`([^`]+)`:$")
_ANYTHING: Final = "…"
_VARIES: Final = (
    r"(?:\d+[smhd])+",  # an age
    r"\d+(?:\.\d+)?m?(?=/10\b)",  # a metric's value, in front of its target
)
"""Words that a page shows as an example; another word of the same kind is accepted."""


@dataclass(frozen=True, slots=True)
class File:
    """A file that the page tells the reader to write."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Commands:
    """Commands of the page, and the output that it shows; None: it shows none."""

    text: str
    shown: str | None = None


class Machine(Protocol):
    """A machine on which a page is followed."""

    def write(self, path: str, text: str) -> None:
        """Write a file, and create the folders above it."""

    def run(self, commands: str, *, may_fail: bool = False) -> str:
        """Return what the commands print; fail the test if one of them fails, unless `may_fail`."""


def steps(text: str) -> Iterator[File | Commands]:
    """Yield the steps of a page in order. Raises ValueError for a block that would be ignored."""
    blocks = list(_FENCE.finditer(text))
    if text.count("```") != 2 * len(blocks):
        raise ValueError(
            "a block does not begin with ``` and one word, or does not end with ```, on lines of their own"
        )
    languages = [block[1] for block in blocks]
    for block, before, after in zip(blocks, ["", *languages], [*blocks[1:], None], strict=False):
        language, content = block.groups()
        name = _NAME.search(text[: block.start()].rstrip())
        if language == "sh":
            yield Commands(content, after[2] if after is not None and after[1] == "text" else None)
        elif language == "text":
            if before != "sh":
                raise ValueError(f"nothing was typed that prints {content!r}")
        elif name is None:
            raise ValueError(f"the line before this file does not end with its name and a colon: {content!r}")
        else:
            yield File(name[1], content)


def is_like(shown: str, printed: str) -> bool:
    """Whether the output matches, line by line and word by word; `…` is any text in a line, or any lines."""
    lines = [" ".join(line.split()) for line in printed.rstrip().splitlines()]
    return re.fullmatch("".join(map(_line, shown.splitlines())), "".join(f"{line}\n" for line in lines)) is not None


def _line(shown: str) -> str:
    """Return a pattern for a line, with one space between words."""
    return r"(?:.*\n)*" if shown.strip() == _ANYTHING else " ".join(map(_word, shown.split())) + r"\n"


def _word(shown: str) -> str:
    """Return a pattern for a word."""
    if _ANYTHING in shown:
        return ".*".join(map(re.escape, shown.split(_ANYTHING)))
    for kind in _VARIES:
        if found := re.match(kind, shown):
            return kind + re.escape(shown[found.end() :])
    return re.escape(shown)


def follow(
    page: Path, machine: Machine, substitutions: Mapping[str, str] | None = None, *, within_seconds: float = 300.0
) -> None:
    """Follow the page, and fail the test if the output differs from what it shows.

    Commands whose output is shown change nothing: they are repeated until they print it, and may fail before.
    `substitutions`: text of the page -> its replacement; each must occur in the page.
    """
    text = page.read_text(encoding="utf-8")
    for written, instead in (substitutions or {}).items():
        assert written in text, f"{page.name} does not have {written!r}"
        text = text.replace(written, instead)
    for step in steps(text):
        match step:
            case File(path, content):
                machine.write(path, content)
            case Commands(typed, None):
                machine.run(typed)
            case Commands(typed, str(shown)):
                _look(machine, typed, shown, within_seconds)


def _look(machine: Machine, typed: str, shown: str, within_seconds: float) -> None:
    end = time.monotonic() + within_seconds
    while not is_like(shown, printed := machine.run(typed, may_fail=True)):
        assert time.monotonic() < end, f"{typed}printed\n{printed}\nand not\n{shown}"
        time.sleep(0.5)
