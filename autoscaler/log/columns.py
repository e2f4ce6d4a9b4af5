"""The log on a terminal: a decision with its size before and its cause, any other event as words and keys."""

import shutil
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, TextIO

from structlog.typing import EventDict, WrappedLogger

from autoscaler.layout import BOLD, CYAN, DIM, GREEN, RED, YELLOW, Screen, Table, clock, local
from autoscaler.model import Direction
from autoscaler.text import count
from autoscaler.view.verdict import direction

_LEVELS: Final = {"error": RED, "critical": RED, "warning": YELLOW, "debug": DIM}
_GAP: Final = "  "
_NARROWEST: Final = [" " * width for width in (len("00:00:00"), 8, len("▲ 100"), 0)]
"""First widths of time, autoscaler, size and cause, so that the first lines stay aligned."""
_WIDEST: Final = 60
"""The width that a column grows to."""


class Columns:
    """A structlog renderer. Columns grow with their cells, so that lines stay aligned."""

    def __init__(self, out: TextIO) -> None:
        """Colours are used if `out` is a terminal."""
        self._screen = Screen(colours=out.isatty())
        self._table = Table(_NARROWEST, self._screen, gap=len(_GAP), widest=_WIDEST)

    def __call__(self, logger: WrappedLogger, method: str, entry: EventDict) -> str:  # noqa: ARG002 - structlog's signature
        """Return the line, without its end."""
        at = datetime.fromisoformat(entry.pop("timestamp"))
        time = clock(at, at)
        level, event = entry.pop("level"), entry.pop("event")
        if event == "decision":
            return self._decision(at, level, entry)
        paint = self._screen.paint
        words = [f"{paint(DIM, f'{key}=')}{_words(value)}" for key, value in entry.items()]
        return _GAP.join((paint(DIM, time), paint(_LEVELS.get(level, BOLD), event), _GAP.join(words)))

    def _decision(self, at: datetime, level: str, entry: Mapping[str, Any]) -> str:
        current = entry["current"]
        towards = None if current is None else direction(current, entry["desired"])
        mark, colour = _mark(level, towards, entry["written"])
        size = f"{mark} {'?' if current is None else current}"
        cause = local(entry["why"], at)
        if entry["dry_run"] and "dry run" not in cause:
            cause = f"(dry run) {cause}"
        if "repeated" in entry:
            cause = f"({count(entry['repeated'], 'time')}) {cause}"
        nothing_new = towards is None and level == "info"
        self._table.screen = Screen(shutil.get_terminal_size().columns, self._screen.colours)
        colours = (DIM, BOLD, colour, DIM if nothing_new else "")
        return "\n".join(self._table.row((clock(at, at), entry["autoscaler"], size, cause), colours, cut=nothing_new))


def _mark(level: str, towards: Direction | None, written: int | None) -> tuple[str, str]:
    """Return what happened as one character, and its colour."""
    if level != "info":
        return "!", RED
    if towards is None:
        return "·", ""
    out = towards is Direction.OUT
    if written is None:  # held, refused, or a dry run
        return ("△" if out else "▽"), YELLOW
    return ("▲", GREEN) if out else ("▼", CYAN)


def _words(value: Any) -> str:
    if isinstance(value, list | tuple | set | frozenset):
        return ",".join(map(str, value)) or "-"
    return str(value)
