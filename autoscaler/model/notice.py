"""A notice: what is sent to operators when it happens."""

from enum import StrEnum

from msgspec import Struct


class NoticeType(StrEnum):
    """The event that a notice is of."""

    SCALED = "scaled"
    """A size was written."""
    AT_MAXIMUM = "atMaximum"
    """More is asked for than maxReplicas, another maximum, or the connection's maxTotal allows."""
    METRIC_FAILING = "metricFailing"
    """A metric has no value any more."""
    HELD = "held"
    """A pause, the target or a brake prevents a change."""
    RESET = "reset"
    """A deployment reset the size."""
    RELOAD_REFUSED = "reloadRefused"
    """A daemon has refused a configuration."""
    TEST = "test"


class Notice(Struct, frozen=True):
    """One notice."""

    type: NoticeType
    subject: str
    """The autoscaler's name; of RELOAD_REFUSED and TEST the host's."""
    message: str
    target: str | None = None
    size: int | None = None
    """The size that was read."""
    desired: int | None = None
    """The size that was written or is wanted."""
    reason: str | None = None
    """A word: that of the condition or of the event."""
