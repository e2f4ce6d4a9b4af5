"""Configures the log of the whole process on stderr: JSON lines, or columns on a terminal."""

import json
import logging
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import StrEnum
from functools import partial
from types import TracebackType
from typing import Any, Final, TextIO, cast

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from autoscaler.errors import named
from autoscaler.log.bounds import within_bounds
from autoscaler.log.columns import Columns
from autoscaler.log.stream import LogStream
from autoscaler.logger import Logger


class Level(StrEnum):
    """The lowest level that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    WARN = "warn"
    """The same; Prometheus' programs use this name."""
    ERROR = "error"


class Format(StrEnum):
    """How a line is written."""

    AUTO = "auto"
    """Columns on a terminal, JSON elsewhere."""
    JSON = "json"
    CONSOLE = "console"


_LEVELS: Final = frozenset(Level)
_SHOWN_CALLS: Final = 20
_MAX_SPLIT: Final = 2**16
"""Characters of a library's message that are split into words; fewer are logged."""


def configure(
    level: Level = Level.INFO, style: Format = Format.AUTO, stream: TextIO | LogStream | None = None
) -> Logger:
    """Route structlog, the standard library's logging and warnings to `stream` (stderr); return the root logger."""
    out = cast("TextIO", stream or sys.stderr)
    columns = style is Format.CONSOLE or (style is Format.AUTO and out.isatty())
    threshold = logging.getLevelNamesMapping()[level.upper()]
    stamp = structlog.processors.TimeStamper(fmt="iso", utc=True)
    rendering = [_rendered_by([within_bounds, _add_level, stamp, Columns(out) if columns else _json()], stamp)]
    structlog.configure(
        processors=rendering,
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=lambda *_: _Lines(out),
        cache_logger_on_first_use=False,  # loggers handed out before must follow a second `configure`
    )
    log = cast("Logger", structlog.get_logger())
    if isinstance(stream, LogStream):
        rendered = structlog.wrap_logger(structlog.ReturnLogger(), processors=rendering)
        stream.on_dropped(partial(_told_of_dropped, rendered))
    _route_standard_library(log)
    return log


def _told_of_dropped(rendered: Any, lines: int) -> str:
    """Return the line that tells how many were lost. `rendered`: a logger that returns its lines."""
    error = "stderr could not be written, or its reader was too slow; check the disk, or the program that reads it"
    return f"{rendered.error('log_lines_dropped', lines=lines, error=error)}\n"


def route_uncaught(log: Logger) -> None:
    """Log an exception that ends a thread or the process, instead of Python's traceback on stderr."""

    def thread_failed(failed: threading.ExceptHookArgs) -> None:
        if failed.exc_value is not None and not isinstance(failed.exc_value, SystemExit):
            _log_crash(log, "thread_failed", failed.exc_value, thread=failed.thread and failed.thread.name)

    def crashed(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:  # noqa: ARG001 - sys's signature
        _log_crash(log, "crashed", error)

    threading.excepthook = thread_failed
    sys.excepthook = crashed


def _log_crash(log: Logger, event: str, error: BaseException, **keys: Any) -> None:
    """Log the calls that led to an exception, without its message, which may contain a credential."""
    frames = [f"{each.filename}:{each.lineno} {each.name}" for each in traceback.extract_tb(error.__traceback__)]
    log.error(event, error=named(error), calls=frames[-_SHOWN_CALLS:], **keys)


class _Lines(structlog.WriteLogger):
    """Writes lines. Those that cannot be written are lost, because no caller expects an exception of the log."""

    def msg(self, message: str) -> None:
        with suppress(OSError, ValueError):  # a full disk, a reader that is gone, a closed file
            super().msg(message)

    debug = info = warning = error = msg


def _rendered_by(steps: Sequence[Processor], stamp: structlog.processors.TimeStamper) -> Processor:
    """Return the steps as one that never raises, because no caller expects an exception of the log."""

    def render(logger: WrappedLogger, method: str, entry: EventDict) -> Any:
        told: Any = entry
        event = entry.get("event")
        try:
            for step in steps:
                told = step(logger, method, told)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with the line, its event is told
            keys = {"level": "error", "event": "line_not_shown", "error": named(error)}
            of = {"of": event} if isinstance(event, str) else {}
            return json.dumps({**stamp(logger, method, {}), **keys, **of})
        return told

    return render


def _add_level(logger: WrappedLogger, method: str, entry: EventDict) -> EventDict:
    """Add the method's level, unless the line has one, which may be lower."""
    said = entry.get("level")
    return entry if said in _LEVELS else structlog.processors.add_log_level(logger, method, entry)


def _json() -> Processor:
    render = structlog.processors.JSONRenderer(ensure_ascii=False)

    def ordered(logger: WrappedLogger, method: str, entry: EventDict) -> str | bytes:
        first = {key: entry.pop(key) for key in ("timestamp", "level", "event")}
        return render(logger, method, {**first, **entry})

    return ordered


def _route_standard_library(log: Logger) -> None:
    handler = _Routed(log)
    # not below WARNING: client libraries' debug logs contain headers
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("urllib3").setLevel(logging.ERROR)  # its warnings show whole URLs with their parameters
    logging.getLogger("apscheduler.scheduler").setLevel(logging.ERROR)  # `tick_missed` has its warnings
    logging.captureWarnings(capture=True)


class _Routed(logging.Handler):
    """Passes records of the standard library's logging on as events, and exceptions without their messages."""

    def __init__(self, log: Logger) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        keys: dict[str, Any] = {"logger": record.name}
        try:
            message = record.getMessage()
        except Exception:  # noqa: BLE001 - a library's wrong arguments must not end it
            message = record.msg if isinstance(record.msg, str) else type(record.msg).__name__
        if record.exc_info and record.exc_info[1] is not None:
            keys["error"] = named(record.exc_info[1])
        write: Callable[..., Any] = self._log.error if record.levelno >= logging.ERROR else self._log.warning
        write("library_log", message=" ".join(message[:_MAX_SPLIT].split()), **keys)
