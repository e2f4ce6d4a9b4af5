"""The tree of errors. Each class says what its catcher does next.

Every message names the thing, what was expected, what was found and the remedy, and contains no secret.
"""

import traceback
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

from autoscaler.text import plain

_E = TypeVar("_E", bound=BaseException)
_R = TypeVar("_R", bound="AutoscalerError")
MAX_MESSAGE: Final = 2048
"""Bytes of an error's message. A server's text in it is cut before."""


class AutoscalerError(Exception):
    """The root of the errors that this project raises."""


class QuantityError(AutoscalerError, ValueError):
    """A text is not a valid quantity or duration, or does not fit; the message says which form was expected."""


class SelectorError(AutoscalerError, ValueError):
    """A text is not a valid label selector; the message says which form was expected."""


class MetricError(AutoscalerError):
    """A metric has no value in this cycle: HPA's rule for failed metrics applies, and the next cycle tries again."""

    def __init__(self, message: object = "") -> None:
        """`message` becomes one printable, bounded line."""
        super().__init__(plain(str(message), MAX_MESSAGE))


class TargetError(AutoscalerError):
    """A target could not be read or written. It affects only its own autoscaler (AbleToScale=False)."""

    def __init__(self, message: object = "") -> None:
        """`message`, which may be an adapter's, becomes one printable, bounded line."""
        super().__init__(plain(str(message), MAX_MESSAGE))


class TargetUnavailable(TargetError):
    """The back end did not answer, throttled, or failed: try again next cycle.

    A write may have arrived, or may still arrive: the next reading of the target shows it.
    """


class TargetNotWritten(TargetError):
    """A write was certainly not done, and will not be, for a temporary reason: try again next cycle."""


class TargetDeferred(TargetNotWritten):
    """No time or no budget of requests was left: nothing was sent, and a write goes first in the next cycle."""


class TargetForbidden(TargetError):
    """The back end refused the credentials: surface it, a retry cannot help before they are changed."""


class TargetNotFound(TargetError):
    """The target does not exist: surface it, a retry cannot help before it is created."""


class TargetNotScalable(TargetError):
    """The target exists and can never be scaled (a global service, a system job): surface it."""


class TargetRefused(TargetError):
    """The back end understood a write and refused it (a size outside its limits): surface it."""


class AdapterError(AutoscalerError):
    """An adapter cannot be loaded or built: the daemon does not start with it."""


class LateError(AutoscalerError):
    """An observation is too old to decide from: the next cycle observes again."""


class StateError(AutoscalerError):
    """The durable state cannot be read or written: nothing may be scaled without it."""


class StaleLedger(StateError):
    """Another shard or daemon has taken over this ledger: its holder must write nothing more."""


class PastError(AutoscalerError):
    """The past cannot be read: there is nothing to replay. The message says what is missing, and the remedy."""


class ListenError(AutoscalerError):
    """An address or socket cannot be listened on: the daemon does not start without it."""


class ServerError(AutoscalerError):
    """A request to a running daemon failed; the message names its address and the remedy."""


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing wrong with a configuration file. `line` and `column` count from 1."""

    file: str
    line: int
    column: int
    path: str
    """The path in the document, as `autoscalers[1].maxReplicas`; empty for the whole file."""
    message: str
    """What is wrong, then `; `, then what to do."""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: "
        return place + (f"{self.path}: {self.message}" if self.path else self.message)


class ConfigError(AutoscalerError):
    """A configuration does not load. `problems` holds every error, sorted by place, and `warnings` every warning."""

    def __init__(self, problems: Sequence[Problem], warnings: Collection[Problem] = ()) -> None:
        self.problems = tuple(sorted(problems))
        self.warnings = tuple(sorted(warnings))
        super().__init__("\n".join(map(str, self.problems)))


@contextmanager
def nothing_written() -> Iterator[None]:
    """Turn a TargetUnavailable in this block, which precedes the sending of a write, into a TargetNotWritten."""
    try:
        yield
    except TargetUnavailable as error:
        raise TargetNotWritten(str(error)) from error


def error_class(error: AutoscalerError) -> str:
    """Return the name of the error's nearest class in this module: adapters may have their own."""
    return next(parent.__name__ for parent in type(error).__mro__ if parent.__module__ == __name__)


def error_of(name: str, message: str, root: type[_R]) -> _R:
    """Return an error of the class with this name, if that is a kind of `root`; else one of `root`."""
    kind = globals().get(name)
    return kind(message) if isinstance(kind, type) and issubclass(kind, root) else root(message)


def bare(error: _E) -> _E:
    """Return the error without traceback and causes, so that it can be kept: their frames may hold a whole answer."""
    error.__traceback__ = error.__cause__ = error.__context__ = None
    return error


def named(error: BaseException) -> str:
    """Return an unexpected exception as `KeyError at /path/file.py:12`, which is enough to find it.

    Its message is omitted, because a client library may write a credential into it.
    """
    frames = traceback.extract_tb(error.__traceback__)
    return type(error).__name__ + (f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else "")


def bug(error: BaseException) -> str:
    """Return the exception as `named` does, with the remedy."""
    return f"{named(error)}; this is a bug, please report it"


def message_of(error: BaseException) -> str:
    """Return the message of an AutoscalerError; for any other exception, what `bug` returns."""
    return str(error) if isinstance(error, AutoscalerError) else bug(error)
