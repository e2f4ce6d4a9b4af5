"""What an autoscaler remembers of its schedules, and what it shows of them."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from autoscaler.document import Document, Seconds
from autoscaler.model import TargetState
from autoscaler.quantity import format_duration
from autoscaler.rules.shown import Line, Remark, ShownDetail, ShownMemory

if TYPE_CHECKING:
    from autoscaler.rules.schedules import Schedules

_MAX_START_UP: Final = timedelta(minutes=15)
"""An instance that took longer to become ready was unready in between, and its time is ignored."""


class OpenEntry(Struct, frozen=True, gc=False):
    """An entry of a schedule that is open and counts."""

    name: str
    minimum: int | None
    """None: it sets none, or one that does not count."""
    maximum: int | None


class OpenEntries(Struct, frozen=True, gc=False):
    """The entries that are open and count, in the configuration's order."""

    entries: tuple[OpenEntry, ...] = ()


class OpenEntryDocument(Document):
    """An entry of a schedule that is open and sets a bound."""

    name: str
    minimum: int | None
    maximum: int | None

    def words(self, minimum: str, maximum: str) -> list[str]:
        """Return the bounds that it sets, each behind its word."""
        pairs = ((minimum, self.minimum), (maximum, self.maximum))
        return [f"{word} {size}" for word, size in pairs if size is not None]


class ShownEntries(ShownMemory):
    """The open entries."""

    schedules: tuple[OpenEntryDocument, ...] = ()
    """The entries of schedules that were open and counted."""

    @classmethod
    def of_memory(cls, memory: OpenEntries) -> "ShownEntries":
        """Return the entries that were open and counted."""
        return cls(schedules=tuple(map(OpenEntryDocument.of, memory.entries)))

    def logged(self) -> Mapping[str, object]:
        """Return the names of the entries, if there are any."""
        return {"schedules": [each.name for each in self.schedules]} if self.schedules else {}

    def remarks(self) -> Iterable[Remark]:
        """Yield each with the bounds that it sets."""
        for each in self.schedules:
            short = each.words("min", "max")
            yield Remark(
                Line("Schedules", f"{each.name} ({', '.join(short)})"),
                now=f"The schedule {each.name} is open: {' '.join(short)}",
                past=f"The schedule {each.name} was open, with {' and '.join(each.words('minimum', 'maximum'))}",
                message=f"of schedule {each.name} is",
            )


class ShownLeadTime(ShownDetail):
    """A hint that entries open too late for instances that start slowly."""

    suggested_lead_time_seconds: Seconds | None = None
    """The start-up time of its instances; null: it is unknown, or its schedules open early enough before a start."""

    @classmethod
    def of_target(cls, rule: "Schedules", memory: Any, state: TargetState | None, size: int | None) -> "ShownLeadTime":
        """Return the hint if an entry with a minimum opens later than the start-up time before its start."""
        leads = [each.lead_time for each in rule.entries if each.min_replicas is not None]
        known = _start_up_time(state) if state is not None and leads else None
        return cls(suggested_lead_time_seconds=known if known is not None and min(leads) < known else None)

    def as_lines(self) -> Iterable[Line]:
        """Yield what to change."""
        if self.suggested_lead_time_seconds is not None:
            took = format_duration(self.suggested_lead_time_seconds)
            text = f"instances take {took} to become ready; give the schedules' entries a leadTime of that"
            yield Line("Lead time", text)


def _start_up_time(state: TargetState) -> timedelta | None:
    """Return how long the target's ready instances took to become ready: the median; None if none shows it."""
    times = [
        each.ready_transition - each.started_at
        for each in state.instances
        if each.ready and not each.deleting and each.ready_transition is not None and each.started_at is not None
    ]
    shown = sorted([took for took in times if timedelta(0) < took <= _MAX_START_UP])
    return shown[len(shown) // 2] if shown else None
