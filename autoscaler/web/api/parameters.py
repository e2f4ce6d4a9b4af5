"""What requests may carry: parameters of the URL, and bodies."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, WithJsonSchema
from pydantic.alias_generators import to_camel

from autoscaler.labels import LONGEST_SELECTOR, PATTERN, Selector
from autoscaler.model import Direction
from autoscaler.quantity import parse_duration

_INT32: Final = 2**31 - 1
_RFC3339: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_UNIX: Final = re.compile(r"\d{1,10}(\.\d{1,32})?(e-\d{1,3})?", re.ASCII | re.IGNORECASE)  # JSON's numbers
_TIME_FORM: Final = "expected a time such as 2026-01-31T12:00:00Z, or seconds since 1970"
_SPAN: Final = (
    r"^([1-9][0-9]{0,2}w|[1-9][0-9]{0,3}d([1-9][0-9]?h)?|[1-9][0-9]{0,4}h([1-9][0-9]?m)?"
    r"|[1-9][0-9]{0,5}m([1-9][0-9]?s)?|[1-9][0-9]{0,6}s)$"
)


def parse_time(text: Any) -> datetime:
    """An aware time, UTC. Raises ValueError for anything but RFC 3339 and seconds since 1970."""
    if isinstance(text, str) and _UNIX.fullmatch(text):
        return datetime.fromtimestamp(float(text), UTC)
    if not isinstance(text, str) or not _RFC3339.fullmatch(text):
        raise ValueError(f"{str(text)[:64]!r} is not a valid time; {_TIME_FORM}")
    try:
        at = text.upper().replace(":60", ":59")  # a leap second counts as the one before
        return datetime.fromisoformat(at).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"{text[:64]!r} is not a valid time; {_TIME_FORM}") from None


_TIME_SCHEMA: Final = {"type": "string", "format": "date-time"}
_UNIX_SCHEMA: Final = {"type": "number", "minimum": 0, "maximum": 9_999_999_999}
Time: TypeAlias = Annotated[
    datetime, BeforeValidator(parse_time), WithJsonSchema({"anyOf": [_TIME_SCHEMA, _UNIX_SCHEMA]})
]
"""A time in a URL."""
BodyTime: TypeAlias = Annotated[datetime, BeforeValidator(parse_time), WithJsonSchema(_TIME_SCHEMA)]
Plain: TypeAlias = Annotated[str, Field(max_length=1000, pattern=r"^[^\x00-\x1f\x7f]*$")]
"""One line of text."""


def _span(text: Any) -> str:
    if not isinstance(text, str) or not re.fullmatch(_SPAN, text):
        raise ValueError(f"{str(text)[:64]} is not accepted; use 90s, 1h30m or 2d")
    return text


Span: TypeAlias = Annotated[str, BeforeValidator(_span), WithJsonSchema({"type": "string", "pattern": _SPAN})]
"""One unit, or two that follow each other."""


def _whole(value: Any) -> Any:
    """JSON does not tell 3.0 from 3."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Minimum: TypeAlias = Annotated[int, Field(strict=True, ge=0, le=_INT32), BeforeValidator(_whole)]
Maximum: TypeAlias = Annotated[int, Field(strict=True, ge=1, le=_INT32), BeforeValidator(_whole)]


def _selector(text: Any) -> Selector:
    if not isinstance(text, str):
        raise ValueError("expected a text such as team=shop")
    return Selector.parse(text)


LabelSelector: TypeAlias = Annotated[
    Selector,
    PlainValidator(_selector),
    WithJsonSchema({"type": "string", "maxLength": LONGEST_SELECTOR, "pattern": PATTERN}),
]


class Parameters(BaseModel):
    """Base of both: unknown ones are refused."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, frozen=True, use_attribute_docstrings=True)


class Nothing(Parameters):
    """No parameters."""


class ListParameters(Parameters):
    """Which part of the list."""

    limit: Annotated[int, Field(ge=1, le=10_000)] = 1_000
    """At most so many."""
    offset: Annotated[int, Field(ge=0, le=_INT32)] = 0
    """After so many."""
    name: Annotated[str, Field(max_length=253)] = ""
    """Only names that contain this text."""
    label_selector: LabelSelector | None = None
    """Only those whose labels fit, such as `team=shop,tier in (web, api),!old`, as kubectl takes it."""


class ExplainParameters(Parameters):
    """Which decision."""

    at: Time | None = None
    """The one in force then. Default: the last."""


class HistoryParameters(Parameters):
    """Which part of the past."""

    since: Time | None = None
    """Default: an hour before `until`."""
    until: Time | None = None
    """Default: now."""
    points: Annotated[int, Field(ge=2, le=10_000)] = 1_000
    """At most so many."""


class ShadowParameters(Parameters):
    """Which part of the past, within `state.detail`."""

    since: Time | None = None
    """Default: a day before `until`."""
    until: Time | None = None
    """Default: now."""


class EventParameters(Parameters):
    """Which events of one autoscaler."""

    since: Time | None = None
    """Default: all that are kept."""
    limit: Annotated[int, Field(ge=1, le=10_000)] = 1_000
    """At most so many, the newest."""
    offset: Annotated[int, Field(ge=0, le=_INT32)] = 0
    """Before the newest so many."""
    merged: bool = True
    """Equal events are one, which counts them; false: each stands for itself."""


class AllEventParameters(EventParameters):
    """Which events."""

    name: Annotated[str, Field(max_length=253)] | None = None
    """Of this autoscaler alone."""


class ChangeBody(Parameters):
    """Why, and for how long. The connection says who asks."""

    reason: Plain = ""


class TemporaryChangeBody(ChangeBody):
    """Something that may end by itself."""

    span: Span | None = Field(default=None, alias="for", examples=["2h", "1d12h"])
    """For how long, such as `2h` or `1h30m`; left out: until it is taken back."""
    until: BodyTime | None = None
    """Until when; with `for` too, whichever comes first."""

    def end(self, now: datetime) -> datetime | None:
        """When it ends by itself; None: never."""
        ends = [] if self.until is None else [self.until]
        if self.span is not None:
            ends.append(now + parse_duration(self.span))
        return min(ends, default=None)


class PauseBody(TemporaryChangeBody):
    """Write no size in a direction. Decisions are still made and shown."""

    direction: Direction = Direction.BOTH


class OverrideBody(TemporaryChangeBody):
    """Other bounds for a time; what is left out stays as it is configured."""

    minimum: Minimum | None = None
    maximum: Maximum | None = None


class ResumeBody(ChangeBody):
    """Back to what is configured."""

    pause: Annotated[bool, Field(strict=True)] = True
    """Whether a pause ends."""
    override: Annotated[bool, Field(strict=True)] = True
    """Whether an override ends."""


class ManyBody(ChangeBody):
    """Of several autoscalers at once: one of the two is to be given."""

    label_selector: LabelSelector | None = None
    """Those whose labels fit."""
    all: Annotated[bool, Field(strict=True)] = False
    """Every one that is configured."""


class PauseManyBody(ManyBody, PauseBody):
    """Write no size in a direction, for all that are configured now or whose labels fit now."""


class ResumeManyBody(ManyBody, ResumeBody):
    """Back to what is configured, for all of them or those whose labels fit."""


DEFAULT_HISTORY: Final = timedelta(hours=1)
