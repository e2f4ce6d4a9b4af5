"""`autoscaler get`: one row for each autoscaler, in the columns of `kubectl get hpa`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from autoscaler.cli.tables.colours import OF_LEVEL
from autoscaler.documents.level import Level
from autoscaler.documents.summary import Summary
from autoscaler.documents.verdict import AutoscalerState
from autoscaler.layout import NONE, UNKNOWN, or_unknown
from autoscaler.quantity import format_age
from autoscaler.text import clean

HEADER: Final = ("NAME", "REFERENCE", "TARGETS", "MIN", "MAX", "REPLICAS", "READY", "AGE")
WIDE_HEADER: Final = (*HEADER[:-1], "DESIRED", "AGE", "STATE", "WHY")
HOST: Final = "HOST"
"""The wide table's column before STATE, if several daemons share the state."""
SHARED_HEADER: Final = (*WIDE_HEADER[:-2], HOST, *WIDE_HEADER[-2:])


@dataclass(frozen=True, slots=True)
class Row:
    """One row."""

    cells: tuple[str, ...]
    """The cells of HEADER without the age."""
    level: Level
    first_seen: datetime | None
    wide: tuple[str, ...]
    """Further cells of the wide table: all metrics, the wanted size, the state and its cause."""
    host: str
    """The daemon that serves it; empty: the state has one daemon."""

    @classmethod
    def of(cls, summary: Summary) -> "Row":
        """Return the row of one autoscaler."""
        size, wanted = or_unknown(summary.current), or_unknown(summary.desired)
        low, high = or_unknown(summary.minimum), or_unknown(summary.maximum)
        name, reference = clean(summary.name), clean(summary.reference) or UNKNOWN
        metrics = ", ".join(metric.text for metric in summary.metrics) or NONE
        why = clean(summary.why or summary.reason or "")
        return cls(
            (name, reference, clean(summary.targets), low, high, size, _ready(summary)),
            summary.level,
            summary.first_seen,
            (clean(metrics), wanted, state_words(summary), why),
            clean(summary.held_by or (NONE if summary.unheld else "")),
        )

    def narrow(self, now: datetime) -> tuple[str, ...]:
        """Return the cells of HEADER."""
        return (*self.cells, self._age(now))

    def broad(self, now: datetime) -> tuple[str, ...]:
        """Return the cells of WIDE_HEADER."""
        metrics, wanted, state, why = self.wide
        name, reference, _, *sizes = self.cells
        return (name, reference, metrics, *sizes, wanted, self._age(now), state, why)

    def shared(self, now: datetime) -> tuple[str, ...]:
        """Return the cells of SHARED_HEADER."""
        *others, state, why = self.broad(now)
        return (*others, self.host, state, why)

    def colours(self, header: Sequence[str]) -> Sequence[str]:
        """Return the colours of the wide table's cells."""
        colour = OF_LEVEL[self.level]
        return [colour if title == "STATE" else "" for title in header]

    def _age(self, now: datetime) -> str:
        return UNKNOWN if self.first_seen is None else format_age(now - self.first_seen)


def state_words(summary: Summary) -> str:
    """Return the state: `limited`, `scaling in (dry run)`, `failing, paused`."""
    words = ", ".join(summary.states)
    if summary.state is AutoscalerState.SCALING and summary.direction is not None:
        words += f" {summary.direction}"
    return f"{words} (dry run)" if summary.dry_run else words


def _ready(summary: Summary) -> str:
    """Return ready instances and the requested size, `2/3`, as kubectl writes them for a Deployment."""
    return UNKNOWN if summary.ready is None else f"{summary.ready}/{or_unknown(summary.current)}"
