"""The log on a terminal: a decision in aligned columns, anything else as words and keys."""

import shutil
import textwrap
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, TextIO

from structlog.typing import EventDict, WrappedLogger

from autoscaler.documents import notation

_RESET, _BOLD, _DIM = "\033[0m", "\033[1m", "\033[2m"
_RED, _GREEN, _YELLOW, _CYAN = "\033[31m", "\033[32m", "\033[33m", "\033[36m"
_LEVELS: Final = {"error": _RED, "critical": _RED, "warning": _YELLOW, "debug": _DIM}
_GAP: Final = "  "
_NARROWEST: Final = {"autoscaler": 8, "size": 7, "metrics": 12, "reason": 20}
"""Where columns start, so that the first lines need not jump; `10 → 12` is 7."""
_WIDEST: Final = 60
"""Columns that one column grows to; a longer text in it moves its own line alone."""
_ROOM_TO_WRAP: Final = 40
"""Columns that a message needs beside the others to be wrapped there."""


class Columns:
    """A structlog renderer. Columns grow with what they have held, so that lines stay aligned."""

    def __init__(self, out: TextIO) -> None:
        """Colours only where `out` is a terminal."""
        self._colours = out.isatty()
        self._widths = dict(_NARROWEST)

    def __call__(self, logger: WrappedLogger, method: str, entry: EventDict) -> str:  # noqa: ARG002 - structlog's signature
        """The line, without its end."""
        time = self._paint(_DIM, _local_time(entry.pop("timestamp")))
        level, event = entry.pop("level"), entry.pop("event")
        if event == "decision":
            return time + _GAP + self._decision(level, entry)
        text = _GAP.join(f"{self._paint(_DIM, f'{key}=')}{_words(value)}" for key, value in entry.items())
        return time + _GAP + self._paint(_LEVELS.get(level, _BOLD), event) + _GAP + text

    def _decision(self, level: str, entry: Mapping[str, Any]) -> str:
        current, desired, written = entry["current"], entry["desired"], entry["written"]
        shadow = entry.get("shadow")
        size = current if shadow is None else shadow
        moves = desired is not None and current is not None and desired != size
        mark, colour = _mark(level, None if current is None else size, desired, written)
        line = _GAP.join(
            (
                self._paint(_BOLD, self._pad("autoscaler", entry["autoscaler"])),
                self._paint(colour, mark + " " + self._pad("size", _size(current, shadow, desired))),
                self._pad("metrics", ", ".join(map(_metric, entry["metrics"]))),
                self._paint(colour, self._pad("reason", entry["reason"] or "-")),
            )
        )
        message = ("(dry run) " if entry["dry_run"] else "") + (entry["message"] or "")
        if "repeated" in entry:
            message = f"({entry['repeated']} times) {message}"
        indent = len("00:00:00") + len("▲ ") + sum(self._widths.values()) + 5 * len(_GAP)
        room = shutil.get_terminal_size().columns - indent
        if not moves and level == "info":
            return line + _GAP + self._paint(_DIM, _cut(message, room))
        lines = textwrap.wrap(message, room) if room >= _ROOM_TO_WRAP else [message]  # what must be read is never cut
        return line + _GAP + ("\n" + " " * indent).join(lines)

    def _pad(self, column: str, text: str) -> str:
        width = self._widths[column] = max(self._widths[column], min(len(text), _WIDEST))
        return text.ljust(width)

    def _paint(self, colour: str, text: str) -> str:
        return f"{colour}{text}{_RESET}" if self._colours and colour else text


def _mark(level: str, current: int | None, desired: int | None, written: int | None) -> tuple[str, str]:
    """What happened in one character, and its colour."""
    if level != "info":
        return "!", _RED
    if current is None or desired is None or desired == current:
        return "·", ""
    if written is None:  # held, refused by somebody else's change, or a dry run
        return ("△" if desired > current else "▽"), _YELLOW
    return ("▲", _GREEN) if desired > current else ("▼", _CYAN)


def _size(current: int | None, shadow: int | None, desired: int | None) -> str:
    """`10 → 12`; in a dry run its shadow's beside the target's, `10 (12 → 14)`."""
    if current is None:
        return "?"
    size = current if shadow is None else shadow
    text = str(size) if desired is None or desired == size else f"{size} → {desired}"
    return text if shadow is None else f"{current} ({text})"


def _metric(metric: Mapping[str, Any] | str) -> str:
    """`metric`: a text where it stands for those that the line has no room for."""
    if isinstance(metric, str):
        return metric
    current, target = (notation.plain(str(metric.get(key) or notation.UNKNOWN)) for key in ("value", "target"))
    missing = f" ({metric['missing']} missing)" if metric.get("missing") else ""
    return f"{metric.get('name')} {current}/{target}{missing}"


def _words(value: Any) -> str:
    if isinstance(value, list | tuple | set | frozenset):
        return ",".join(map(str, value)) or "-"
    return str(value)


def _local_time(timestamp: str) -> str:
    return datetime.fromisoformat(timestamp).astimezone().strftime("%H:%M:%S")


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"
