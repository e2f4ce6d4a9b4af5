"""The log on a terminal: a decision in aligned columns, any other event as words and keys."""

import shutil
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, TextIO

from structlog.typing import EventDict, WrappedLogger

from autoscaler.layout import BOLD, CYAN, DIM, GREEN, RED, YELLOW, Screen, Table
from autoscaler.model import Direction
from autoscaler.text import count
from autoscaler.view import notation
from autoscaler.view.verdict import direction

_LEVELS: Final = {"error": RED, "critical": RED, "warning": YELLOW, "debug": DIM}
_GAP: Final = "  "
_NARROWEST: Final = [" " * width for width in (len("00:00:00"), 8, len("▲ 10 → 12"), 12, 20, 0)]
"""First widths of time, autoscaler, size, metrics, reason and message, so that the first lines stay aligned."""
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
        time = datetime.fromisoformat(entry.pop("timestamp")).astimezone().strftime("%H:%M:%S")
        level, event = entry.pop("level"), entry.pop("event")
        if event == "decision":
            return self._decision(time, level, entry)
        paint = self._screen.paint
        words = [f"{paint(DIM, f'{key}=')}{_words(value)}" for key, value in entry.items()]
        return _GAP.join((paint(DIM, time), paint(_LEVELS.get(level, BOLD), event), _GAP.join(words)))

    def _decision(self, time: str, level: str, entry: Mapping[str, Any]) -> str:
        current, desired = entry["current"], entry["desired"]
        towards = None if current is None else direction(current, desired)
        mark, colour = _mark(level, towards, entry["written"])
        size = f"{mark} {_size(current, desired)}"
        metrics = ", ".join(map(_metric, entry["metrics"]))
        message = ("(dry run) " if entry["dry_run"] else "") + (entry["message"] or "")
        if "repeated" in entry:
            message = f"({count(entry['repeated'], 'time')}) {message}"
        cells = (time, entry["autoscaler"], size, metrics, entry["reason"] or "-", message)
        nothing_new = towards is None and level == "info"
        self._table.screen = Screen(shutil.get_terminal_size().columns, self._screen.colours)
        colours = (DIM, BOLD, colour, "", colour, DIM if nothing_new else "")
        return "\n".join(self._table.row(cells, colours, cut=nothing_new))


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


def _size(current: int | None, desired: int | None) -> str:
    """Return `10 → 12`."""
    if current is None:
        return "?"
    return str(current) if desired is None or desired == current else f"{current} → {desired}"


def _metric(metric: Mapping[str, Any] | str) -> str:
    """Return `cpu 63%/60%`. `metric`: a text in place of the metrics that the line has no room for."""
    if isinstance(metric, str):
        return metric
    current, target = (notation.plain(str(metric.get(key) or notation.UNKNOWN)) for key in ("value", "target"))
    missing = f" ({metric['missing']} missing)" if metric.get("missing") else ""
    return f"{metric.get('name')} {current}/{target}{missing}"


def _words(value: Any) -> str:
    if isinstance(value, list | tuple | set | frozenset):
        return ",".join(map(str, value)) or "-"
    return str(value)
