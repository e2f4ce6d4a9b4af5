"""The parameters and bodies of requests."""

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, WithJsonSchema
from pydantic.alias_generators import to_camel

from autoscaler.labels import LONGEST_SELECTOR, PATTERN, Selector
from autoscaler.model import Direction
from autoscaler.quantity import parse_duration
from autoscaler.times import parse_instant

_INT32: Final = 2**31 - 1
_RFC3339: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_UNIX: Final = re.compile(r"\d{1,10}(\.\d{1,32})?(e-\d{1,3})?", re.ASCII | re.IGNORECASE)  # JSON's numbers
_TIME_FORM: Final = "expected a time such as 2026-01-31T12:00:00Z, or seconds since 1970"
_UNITS: Final = {"y": 1, "w": 2, "d": 4, "h": 5, "m": 6, "s": 7, "ms": 7}
"""Unit of a duration -> how many digits may follow the first."""
_SPAN: Final = "^" + "".join(f"([1-9][0-9]{{0,{more}}}{unit})?" for unit, more in _UNITS.items()) + "$"


def _time(text: Any) -> datetime:
    """Return the time in UTC. Raises ValueError unless it is RFC 3339 or seconds since 1970."""
    if isinstance(text, str) and _UNIX.fullmatch(text):
        return datetime.fromtimestamp(float(text), UTC)
    if isinstance(text, str) and _RFC3339.fullmatch(text):
        with suppress(ValueError):
            return parse_instant(text.upper().replace(":60", ":59"))  # a leap second counts as the second before
    raise ValueError(f"{str(text)[:64]!r} is not a valid time; {_TIME_FORM}")


_TIME_SCHEMA: Final = {"type": "string", "format": "date-time", "pattern": "^(19[7-9]|[2-8][0-9]{2})[0-9]-"}
_UNIX_SCHEMA: Final = {"type": "number", "minimum": 0, "maximum": 9_999_999_999}
Time: TypeAlias = Annotated[datetime, BeforeValidator(_time), WithJsonSchema({"anyOf": [_TIME_SCHEMA, _UNIX_SCHEMA]})]
"""A time in a URL."""
Plain: TypeAlias = Annotated[str, Field(max_length=1000, pattern=r"^[^\x00-\x1f\x7f]*$")]
"""One line of text."""


def _span(text: Any) -> str:
    if not isinstance(text, str) or not text or not re.fullmatch(_SPAN, text):
        raise ValueError(f"{str(text)[:64]} is not accepted; use 90s, 1h30m or 2d")
    return text


Span: TypeAlias = Annotated[
    str, BeforeValidator(_span), WithJsonSchema({"type": "string", "minLength": 1, "pattern": _SPAN})
]
"""A duration in Prometheus' form, longer than 0."""


def _whole(value: Any) -> Any:
    """Return 3 for 3.0: JSON does not distinguish them."""
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
    """Base of parameters and bodies: unknown names are refused."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, frozen=True)


class Nothing(Parameters):
    """No parameters."""


class ListParameters(Parameters):
    """Parameters of the list."""

    limit: Annotated[int, Field(ge=1, le=10_000)] = 1_000
    """Autoscalers in the answer at most."""
    offset: Annotated[int, Field(ge=0, le=_INT32)] = 0
    """Autoscalers to skip."""
    name: Annotated[str, Field(max_length=253)] = ""
    """Only names that contain this text."""
    label_selector: LabelSelector | None = None
    """Only autoscalers whose labels match, such as `team=shop,tier in (web, api),!old`, as in kubectl."""


class ExplainParameters(Parameters):
    """The time of the decision."""

    at: Time | None = None
    """Show the decision in force at this time. Default: the last decision."""


class HistoryParameters(Parameters):
    """The range of the history."""

    since: Time | None = None
    """Default: an hour before `until`."""
    until: Time | None = None
    """Default: now."""
    points: Annotated[int, Field(ge=2, le=10_000)] = 1_000
    """Points in the answer at most."""


class EventParameters(Parameters):
    """Parameters of the events."""

    name: Annotated[str, Field(max_length=253)] | None = None
    """Only events of this autoscaler."""
    since: Time | None = None
    """Default: the oldest event."""
    limit: Annotated[int, Field(ge=1, le=10_000)] = 1_000
    """Events in the answer at most, newest first."""
    offset: Annotated[int, Field(ge=0, le=_INT32)] = 0
    """Newest events to skip."""
    merged: bool = True
    """true: equal events are one with a count; false: each is listed."""


class ChangeBody(Parameters):
    """The reason and the end of a change. The connection identifies the user."""

    reason: Plain = ""


class TemporaryChangeBody(ChangeBody):
    """A change that may expire."""

    span: Span | None = Field(default=None, alias="for", examples=["2h", "1d12h"])
    """The duration, such as `2h` or `1h30m`. Default: until it is removed."""

    def end(self, now: datetime) -> datetime | None:
        """Return when it expires; None: never."""
        return None if self.span is None else now + parse_duration(self.span)


class PauseBody(TemporaryChangeBody):
    """Write no size in a direction. Decisions are still made and shown."""

    direction: Direction = Direction.BOTH


class OverrideBody(TemporaryChangeBody):
    """Temporary bounds. An omitted bound stays as configured."""

    minimum: Minimum | None = None
    maximum: Maximum | None = None


class ResumeBody(ChangeBody):
    """Restore the configuration."""

    pause: Annotated[bool, Field(strict=True)] = True
    """Whether to remove the pause."""
    override: Annotated[bool, Field(strict=True)] = True
    """Whether to remove the override."""


class ManyBody(ChangeBody):
    """The selected autoscalers: give one of the two."""

    label_selector: LabelSelector | None = None
    """Autoscalers whose labels match."""
    all: Annotated[bool, Field(strict=True)] = False
    """true: every configured autoscaler."""


class PauseManyBody(ManyBody, PauseBody):
    """Write no size in a direction, for all autoscalers or those whose labels match now."""


class ResumeManyBody(ManyBody, ResumeBody):
    """Restore the configuration of all autoscalers or of those whose labels match."""


DEFAULT_HISTORY: Final = timedelta(hours=1)
