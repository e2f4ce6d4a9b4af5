"""Drains: what happens to an instance that leaves before its back end ends it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct


class DrainAction(StrEnum):
    """How an instance is drained, as the configuration calls it."""

    NOMAD = "nomad"
    """Its Nomad node is drained."""
    HTTP = "http"
    """A URL of the instance is asked until it answers that the instance is drained."""
    COMMAND = "command"
    """A program runs on the daemon's machine until it succeeds."""


class DrainOutcome(StrEnum):
    """How a drain ended."""

    DONE = "done"
    """The action succeeded, and the instance was let go."""
    TIMED_OUT = "timeout"
    """The drain's timeout passed, and the instance was let go."""
    GONE = "gone"
    """The instance no longer waits: it ended, or its back end or another client let it go."""


@dataclass(frozen=True, slots=True)
class NodeDrainRule:
    """A drain of the instance's node."""

    adapter: str
    """The connection whose adapter drains nodes."""
    deadline: timedelta
    """After which the back end ends what is left on the node."""


@dataclass(frozen=True, slots=True)
class HttpDrainRule:
    """A drain by requests to the instance."""

    url: str
    """With `{address}`, and `{instance}` where wanted."""
    until: int = 200
    """The status that ends the drain."""


@dataclass(frozen=True, slots=True)
class DrainRule:
    """How an autoscaler's instances are drained. Exactly one of `nomad`, `http` and `command` is given."""

    timeout: timedelta = timedelta(minutes=15)
    """After which an instance is let go, drained or not."""
    hook: str | None = None
    """The lifecycle hook on which instances wait (AWS). None: the group's only terminating hook."""
    nomad: NodeDrainRule | None = None
    http: HttpDrainRule | None = None
    command: tuple[str, ...] = ()
    """The program and its arguments; the program's path is absolute."""

    @property
    def action(self) -> DrainAction:
        """Which of the three it is."""
        if self.nomad is not None:
            return DrainAction.NOMAD
        return DrainAction.COMMAND if self.http is None else DrainAction.HTTP


class Drain(Struct, frozen=True, gc=False):
    """The drain of one instance, from the first cycle that sees it wait until the instance is gone."""

    instance: str
    began: datetime
    action: DrainAction
    detail: str = ""
    """How the action went so far: "its node has allocations", "it answered 503"; may be empty."""
    ended: datetime | None = None
    """None: it is under way."""
    outcome: DrainOutcome | None = None
    """None: it is under way."""


class DrainReport(Struct, frozen=True, gc=False):
    """What the daemon did for one drain, as far as it knows when a cycle observes."""

    instance: str
    detail: str = ""
    outcome: DrainOutcome | None = None
    """DONE or TIMED_OUT, from the moment at which the instance is to be let go; None: the action goes on."""
    released: bool = False
    """Whether the back end has accepted that."""
