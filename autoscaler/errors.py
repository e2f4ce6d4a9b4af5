"""One tree of errors. Each class says what its catcher does next.

Every message names the thing, what was expected, what was found and the remedy; none carries a secret.
"""

import traceback
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

from autoscaler.text import plain

_E = TypeVar("_E", bound=BaseException)
_MOST_BYTES: Final = 2048
"""Of an error that tells what a server said: its words, cut where they came in, and ours around them."""


class AutoscalerError(Exception):
    """Root of everything this project raises on purpose."""


class QuantityError(AutoscalerError, ValueError):
    """A text is not a valid quantity or duration, or does not fit; the message says which form was expected."""


class SelectorError(AutoscalerError, ValueError):
    """A text is not a valid label selector; the message says which form was expected."""


class MetricError(AutoscalerError):
    """One metric has no value this cycle: HPA's rule for failed metrics applies, the next cycle asks again."""

    def __init__(self, message: object = "") -> None:
        """`message`: kept as one printable line, within bounds."""
        super().__init__(plain(str(message), _MOST_BYTES))


class TargetError(AutoscalerError):
    """A target could not be read or written. Only its own autoscaler is concerned (AbleToScale=False)."""

    def __init__(self, message: object = "") -> None:
        """`message`: kept as one printable line, within bounds, whatever adapter it is from."""
        super().__init__(plain(str(message), _MOST_BYTES))


class TargetUnavailable(TargetError):
    """The back end did not answer, throttled, or failed: try again next cycle.

    Of a write it means that it may have arrived, or may yet arrive: the next reading of the target tells.
    """


class TargetNotWritten(TargetError):
    """A write was certainly not done, and will not be, for a reason of the moment: try again next cycle."""


class TargetDeferred(TargetNotWritten):
    """There was no time left, or no budget of requests: nothing was sent, and a write goes first in the next cycle."""


class TargetForbidden(TargetError):
    """The back end refused our credentials: surface it, a retry cannot help before they are changed."""


class TargetNotFound(TargetError):
    """The target does not exist (any more): surface it, a retry cannot help before it is created."""


class TargetNotScalable(TargetError):
    """The target exists and can never be scaled (a global service, a system job): surface it."""


class TargetRefused(TargetError):
    """The back end understood a write and refused it (a size outside its limits): surface it."""


class AdapterError(AutoscalerError):
    """An adapter cannot be loaded or built: the daemon does not start with it."""


class LateError(AutoscalerError):
    """An observation came so late that it says nothing about now: the next cycle observes anew."""


class StateError(AutoscalerError):
    """The durable state cannot be read or written: nothing may be scaled without it."""


class StaleLedger(StateError):
    """Another shard, or another daemon, has taken over what this one remembered: it must write nothing any more."""


class PastError(AutoscalerError):
    """The past cannot be read: there is nothing to replay. The message says what is missing, and the remedy."""


class ListenError(AutoscalerError):
    """An address or socket cannot be listened on: the daemon does not start without it."""


class ServerError(AutoscalerError):
    """A running daemon could not be asked over HTTP; the message names its address and the remedy."""


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing wrong with a configuration file. `line` and `column` count from 1."""

    file: str
    line: int
    column: int
    path: str
    """Where in the document, as `autoscalers[1].maxReplicas`; empty for the file as a whole."""
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
    """What an adapter does before it sends a write: a TargetUnavailable in this block becomes a TargetNotWritten."""
    try:
        yield
    except TargetUnavailable as error:
        raise TargetNotWritten(str(error)) from error


def bare(error: _E) -> _E:
    """The same error without its traceback and causes, for one that is kept: their frames may hold a whole answer."""
    error.__traceback__ = error.__cause__ = error.__context__ = None
    return error


def named(error: BaseException) -> str:
    """`KeyError at /path/file.py:12`, of an exception that nobody expected: enough to find it, on one line.

    Its message stays out: what a client library writes there may hold a credential.
    """
    frames = traceback.extract_tb(error.__traceback__)
    return type(error).__name__ + (f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else "")


def bug(error: BaseException) -> str:
    """The same for whoever reads it, with the remedy."""
    return f"{named(error)}; this is a bug, please report it"
