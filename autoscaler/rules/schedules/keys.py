"""The keys of schedules in the file."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Annotated, Any, Final, TypeAlias

from pydantic import (
    AfterValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    Tag,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from autoscaler.cron import check_cron, joins_days_by_and
from autoscaler.fields.types import (
    CountOrZero,
    Flag,
    HintedSection,
    PositiveDuration,
    ScheduleName,
    Section,
    Text,
    Zone,
    at_most,
    scope_of,
    two_forms,
)
from autoscaler.target import Duration
from autoscaler.windows import MAX_OPEN, ScheduleEntry

_MAX_LEAD: Final = timedelta(days=1)
_YEARS: Final = range(1971, 9000)


def _local_time(text: Any) -> datetime:
    try:
        at = datetime.fromisoformat(text) if isinstance(text, str) and "T" in text else None
    except ValueError:
        at = None
    if at is None or at.tzinfo is not None or at.year not in _YEARS:
        raise ValueError(
            f"{str(text)[:64]!r} is not a date and time in `timezone`; write it without an offset, as in "
            "2026-11-27T00:00"
        )
    return at


def _local_date(text: Any) -> date:
    try:
        return date.fromisoformat(text if isinstance(text, str) else "")
    except ValueError:
        raise ValueError(f"{str(text)[:64]!r} is not a date; write it as in 2026-12-25") from None


_TIME_SCHEMA: Final = WithJsonSchema({"type": "string", "examples": ["2026-11-27T00:00"]})
_DATE_SCHEMA: Final = WithJsonSchema({"type": "string", "format": "date"})
_CRON_SCHEMA: Final = WithJsonSchema({"type": "string", "examples": ["0 8 * * 1-5"]})

Cron: TypeAlias = Annotated[Text, AfterValidator(check_cron), _CRON_SCHEMA]
_AS_ISO: Final = PlainSerializer(lambda value: value.isoformat(), return_type=str)
LocalTime: TypeAlias = Annotated[datetime, PlainValidator(_local_time), _AS_ISO, _TIME_SCHEMA]
LocalDate: TypeAlias = Annotated[date, PlainValidator(_local_date), _AS_ISO, _DATE_SCHEMA]
OpenTime: TypeAlias = Annotated[PositiveDuration, at_most(MAX_OPEN)]
LeadTime: TypeAlias = Annotated[Duration, at_most(_MAX_LEAD)]


class EntryKeys(HintedSection):
    """Bounds at times of the calendar: `cron` with `duration` or `until`, or `start` and `end`."""

    cron: Cron | None = None
    """The starts: minute, hour, day of the month, month and day of the week."""
    duration: OpenTime | None = None
    """How long it is open after each start, in elapsed time; at most 31d."""
    until: Cron | None = None
    """The ends: the first one after a start counts, at most 31 days after it."""
    start: LocalTime | None = None
    """A date and time in `timezone`."""
    end: LocalTime | None = None
    """A date and time in `timezone`."""
    timezone: Zone
    """A zone of the IANA database."""
    min_replicas: CountOrZero | None = None
    """In place of the autoscaler's, if it is higher."""
    max_replicas: CountOrZero | None = None
    """In place of the autoscaler's, higher or lower; 0 switches the target off."""
    replace: Flag = False
    """true: minReplicas also counts if it is lower than the autoscaler's."""
    excluded: tuple[LocalDate, ...] = Field(default=(), alias="except")
    """Dates in `timezone` without a start."""
    lead_time: LeadTime = timedelta(0)
    """How long before a start it opens; at most 1d."""

    @model_validator(mode="after")
    def _one_form(self) -> "EntryKeys":
        keys = ("cron", "duration", "until", "start", "end")
        given = {key for key in keys if getattr(self, key) is not None}
        if given not in ({"cron", "duration"}, {"cron", "until"}, {"start", "end"}):
            raise ValueError("write either `cron` with one of `duration` and `until`, or `start` and `end`")
        if self.start is not None and self.end is not None and self.end <= self.start:
            raise ValueError("`end` is not after `start`; correct one of them")
        if self.excluded and self.cron is None:
            raise ValueError("`except` applies to the starts of `cron`; remove it")
        low, high = self.min_replicas, self.max_replicas
        if low is None and high is None:
            raise ValueError("it sets no bound; add minReplicas, maxReplicas or both")
        if low is not None and high is not None and high < low:
            raise ValueError(f"maxReplicas {high} is below minReplicas {low}; raise it, or lower minReplicas")
        if self.replace and low is None:
            raise ValueError("`replace` applies to minReplicas; add that, or remove it")
        return self

    def hints(self) -> Iterator[tuple[str, str]]:
        """Yield the expressions whose two day fields are joined by "and", where "or" is usual."""
        for name, expression in (("cron", self.cron), ("until", self.until)):
            if expression is not None and joins_days_by_and(expression):
                message = (
                    "a day must match both day fields, because one of them begins with `*`; write its days out, as in "
                    "1-31/2, if a match of either is meant"
                )
                yield name, message

    def spec(self, name: str) -> ScheduleEntry:
        """Return the frozen entry."""
        return ScheduleEntry(name, **dict(self))


NamedOrEntry: TypeAlias = Annotated[
    Annotated[ScheduleName, Tag("a name")] | Annotated[EntryKeys, Tag("an entry")],
    two_forms(str, "a name", "an entry"),
]
SharedSchedules: TypeAlias = Mapping[str, Sequence[EntryKeys]]
"""The shared ones, by name."""
_MAX_ENTRIES: Final = 100
"""Of the schedules of an autoscaler: each costs time in every cycle, and `check` compares each with each."""


class Keys(Section):
    """The key of an autoscaler."""

    schedules: tuple[NamedOrEntry, ...] = ()
    """Other bounds at times of the calendar: names of shared schedules, and entries; at most 100 entries together."""

    @field_validator("schedules")
    @classmethod
    def _not_too_many(cls, schedules: Sequence[str | EntryKeys], info: ValidationInfo) -> object:
        shared = scope_of(info)["schedules"]
        named = [shared[each] for each in schedules if isinstance(each, str)]
        entries = len(schedules) - len(named) + sum(len(each) for each in named if isinstance(each, Sequence))
        if entries > _MAX_ENTRIES:
            raise ValueError(f"they have {entries:,} entries; write at most {_MAX_ENTRIES}")
        return schedules
