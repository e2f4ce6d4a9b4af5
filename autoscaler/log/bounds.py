"""Bounds each line of the log: printable text without credentials, and at most 32 KiB.

Lines contain texts of servers, adapters, workers and libraries, which could control a terminal or fill a journal.
"""

import sys
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Final

from structlog.typing import EventDict, WrappedLogger

from autoscaler.errors import named
from autoscaler.text import plain

MAX_LINE_BYTES: Final = 32 * 2**10
"""The approximate limit of all values of a line; a decision with fifty metrics takes some 6 KiB."""
_MAX_TEXT_BYTES: Final = 4 * 2**10
_MAX_KEY_BYTES: Final = 128
_MAX_ITEMS: Final = 100
_MAX_DEPTH: Final = 6
_EACH: Final = 16
"""The least number of bytes that a value counts for."""


def within_bounds(logger: WrappedLogger, method: str, entry: EventDict) -> EventDict:  # noqa: ARG001 - structlog's
    """Return the entry with every key and value escaped and bounded, and an exception without its message."""
    error = _exception(entry.pop("exc_info", None))
    if error is not None:
        entry["exception"] = named(error)
    room = _Room()
    event = room.value(entry.pop("event"))  # first, while there is room
    return {"event": event} | {room.key(key): room.value(value) for key, value in entry.items()}


class _Room:
    """The bytes that are left for a line."""

    def __init__(self) -> None:
        self._left = MAX_LINE_BYTES

    def key(self, key: Any) -> str:
        """Return the key as a line may contain it."""
        if type(key) is str and len(key) <= _EACH and key.isascii() and key.isidentifier():  # nearly all
            self._left -= _EACH
            return key
        return self._text(key if type(key) is str else _words(key), _MAX_KEY_BYTES)

    def value(self, value: Any, depth: int = 0) -> Any:
        """Return the value as JSON can represent it."""
        if type(value) is str:
            return self._text(value)
        self._left -= _EACH
        if value is None or type(value) is bool:
            return value
        if type(value) is int and -(2**63) <= value < 2**64:
            return value
        if type(value) is float and abs(value) < float("inf"):  # JSON has no other
            return value
        if isinstance(value, Mapping) and depth < _MAX_DEPTH:
            return self._mapping(value, depth)
        if isinstance(value, list | tuple | set | frozenset) and depth < _MAX_DEPTH:
            return self._items(value, depth)
        return self._text(_words(value))

    def _mapping(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        shown: dict[str, Any] = {}
        for key, each in value.items():
            if len(shown) >= _MAX_ITEMS or self._left <= 0:
                return shown | {"…": f"{len(value) - len(shown)} more"}
            shown[self.key(key)] = self.value(each, depth + 1)
        return shown

    def _items(self, value: Iterable[Any], depth: int) -> list[Any]:
        shown: list[Any] = []
        items = list(value)
        for each in items:
            if len(shown) >= _MAX_ITEMS or self._left <= 0:
                return [*shown, f"{len(items) - len(shown)} more"]
            shown.append(self.value(each, depth + 1))
        return shown

    def _text(self, text: str, most: int = _MAX_TEXT_BYTES) -> str:
        size, most = len(text), min(most, self._left)
        if size > most or not text.isascii() or not text.isprintable() or "//" in text or "%2" in text or "\\/" in text:
            text = plain(text, max(most, _EACH))
            size = len(text.encode())
        self._left -= size if size > _EACH else _EACH
        return text


def _words(value: Any) -> str:
    """Return the value as Python writes it; foreign classes may raise."""
    if type(value) is int:  # Python refuses to write thousands of digits
        return hex(value)
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - foreign code: the line is still logged
        return f"a {type(value).__name__} that cannot be shown"


def _exception(
    given: BaseException | tuple[type[BaseException], BaseException, TracebackType | None] | bool | None,
) -> BaseException | None:
    """Return the exception for the standard library's `exc_info`."""
    if isinstance(given, BaseException):
        return given
    return given[1] if isinstance(given, tuple) else sys.exception() if given else None
