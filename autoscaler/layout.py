"""Aligned columns and wrapped text for terminals: the tables of commands, and the log.

Names and texts come from back ends and users. Tables and wrapped texts show each as one printable line, so that none
controls the terminal.

rich needs 3 s for 2,000 rows; this needs a few milliseconds.
"""

import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from autoscaler.quantity import format_age
from autoscaler.text import clean
from autoscaler.times import find_instants

UNKNOWN: Final = "<unknown>"
NONE: Final = "<none>"
_RESET: Final = "\033[0m"
BOLD: Final = "\033[1m"
DIM: Final = "\033[2m"
RED: Final = "\033[31m"
GREEN: Final = "\033[32m"
YELLOW: Final = "\033[33m"
CYAN: Final = "\033[36m"
_NOW: Final = timedelta(seconds=1)
_ROOM_TO_WRAP: Final = 28
"""Columns that the last cell needs to be wrapped beside the others; else it stands below them."""


@dataclass(frozen=True, slots=True)
class Screen:
    """The terminal or file that text is printed on."""

    width: int | None = None
    """In columns; None: not a terminal, and nothing is wrapped."""
    colours: bool = False

    def paint(self, colour: str, text: str) -> str:
        """Return the text in a colour, if the screen has colours."""
        return f"{colour}{text}{_RESET}" if self.colours and colour and text else text

    def wrap(self, text: str, indent: int = 0, hanging: int = 0) -> list[str]:
        """Return the text in lines, in one if there is no room. `hanging`: the further indent of later lines."""
        text, start, rest = clean(text), " " * indent, " " * (indent + hanging)
        if self.width is None or self.width - indent - hanging < _ROOM_TO_WRAP:
            return [start + text]
        return textwrap.wrap(
            text,
            self.width,
            initial_indent=start,
            subsequent_indent=rest,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [start]


def or_unknown(number: int | None) -> str:
    """Return a number; None: it is unknown."""
    return UNKNOWN if number is None else str(number)


def clock(at: datetime, now: datetime) -> str:
    """Return a time as `13:04:10` in local time, with its date if that is another day."""
    local = at.astimezone()
    return f"{local:%H:%M:%S}" if local.date() == now.astimezone().date() else f"{local:%Y-%m-%d %H:%M:%S}"


def moment(at: datetime, now: datetime) -> str:
    """Return a time as `clock` does, with its age: `13:04:10 (5m ago)`; of a time to come `13:04:10 (in 5m)`."""
    return f"{clock(at, now)} ({ago(at, now)})"


def ago(at: datetime, now: datetime) -> str:
    """Return how long ago, or in how long. What happens while a page is made is "0s ago"."""
    return f"{format_age(now - at)} ago" if at - now < _NOW else f"in {format_age(at - now)}"


def local(text: str, now: datetime) -> str:
    """Return a text in which each time in UTC, as sentences of decisions have them, is written as by `moment`."""
    if "T" not in text:  # the scan of a whole list takes time
        return text
    for found, at in reversed([*find_instants(text)]):
        text = text[: found.start()] + moment(at, now) + text[found.end() :]
    return text


class Table:
    """Rows under a header. Columns grow with their cells, so that later rows stay aligned with earlier ones."""

    def __init__(
        self,
        header: Sequence[str],
        screen: Screen,
        indent: int = 0,
        gap: int = 3,
        widest: int | None = None,
        *,
        ruled: bool = False,
    ) -> None:
        """`widest`: the width that a column grows to; a longer cell moves only its own row. None: no limit.

        `ruled`: with a line below the titles, as `kubectl describe` has it.
        """
        self.screen = screen
        self._header = [clean(title) for title in header]
        self._widest = widest
        self._ruled = ruled
        self._indent = indent
        self._gap = " " * gap
        self._widths = [_width(title) for title in self._header]

    @property
    def has_room(self) -> bool:
        """Return whether the last cell stands beside the others, and not below them. Call `fit` before."""
        taken = self._indent + sum(self._widths[:-1]) + len(self._gap) * (len(self._widths) - 1)
        return self.screen.width is None or self.screen.width - taken >= _ROOM_TO_WRAP

    def header(self) -> list[str]:
        """Return the titles, in lines. Call `fit` with the first rows before."""
        rule = [self._line(["-" * len(title) for title in self._header])[0]] if self._ruled else []
        return [self.screen.paint(BOLD, self._line(self._header)[0]), *rule]

    def fit(self, rows: Iterable[Sequence[str]]) -> None:
        """Make the columns wide enough for these rows."""
        widths = self._widths
        for row in rows:
            for place, cell in enumerate(map(clean, row)):
                if len(cell) > widths[place] or not cell.isascii():
                    widths[place] = max(widths[place], min(_width(cell), self._widest or _width(cell)))

    def row(self, cells: Sequence[str], colours: Sequence[str] = (), *, cut: bool = False) -> list[str]:
        """Return the lines of a row. The last cell is wrapped; with `cut` it ends at the edge of the screen.

        `colours`: one for each cell, or none.
        """
        self.fit([cells])
        return self._line(cells, colours, cut=cut)

    def lines(self, rows: Sequence[Sequence[str]], colours: Sequence[Sequence[str]] = ()) -> list[str]:
        """Return the header and all rows; nothing without a row. `colours`: of the rows, each as of `row`; or none."""
        self.fit(rows)
        painted = zip(rows, colours or [()] * len(rows), strict=True)
        return [*self.header(), *[line for row, each in painted for line in self._line(row, each)]] if rows else []

    def _line(self, cells: Sequence[str], colours: Sequence[str] = (), *, cut: bool = False) -> list[str]:
        *others, last = map(clean, cells)
        *painted, end = colours or [""] * len(cells)
        padded = [cell + " " * (width - _width(cell)) for cell, width in zip(others, self._widths[:-1], strict=True)]
        start = self._indent + sum(self._widths[:-1]) + len(self._gap) * len(padded)
        first = " " * self._indent + self._gap.join(map(self.screen.paint, painted, padded))
        if cut and self.screen.width is not None:
            last = _cut(last, self.screen.width - start)
        if not last:
            return [first.rstrip()]
        beside = self.screen.wrap(last, start)
        if self.screen.width is not None and len(beside) == 1 and _width(beside[0]) > self.screen.width:
            below = self.screen.wrap(last, self._indent + 4)
            return [first.rstrip(), *[self.screen.paint(end, line) for line in below]]
        wrapped = [self.screen.paint(end, line) for line in (beside[0][start:], *beside[1:])]
        return [(first + self._gap + wrapped[0]).rstrip(), *wrapped[1:]]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"


def _width(text: str) -> int:
    """Return the columns on a terminal: East Asian characters take two, combining characters none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(each) else 2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text
    )
