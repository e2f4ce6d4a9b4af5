"""The parameters of what is read: in a URL, or as a command gives them where no daemon answers."""

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final, TypeAlias, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, ValidationError, WithJsonSchema
from pydantic.alias_generators import to_camel

from autoscaler.errors import AutoscalerError
from autoscaler.labels import MAX_SELECTOR, PATTERN, Selector
from autoscaler.times import parse_instant
from autoscaler.view.verdict import AutoscalerState

INT32: Final = 2**31 - 1
_RFC3339: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_UNIX: Final = re.compile(r"\d{1,10}(\.\d{1,32})?(e-\d{1,3})?", re.ASCII | re.IGNORECASE)  # JSON's numbers
_TIME_FORM: Final = "expected a time such as 2026-01-31T12:00:00Z, or seconds since 1970"
_ModelT = TypeVar("_ModelT", bound=BaseModel)
DEFAULT_HISTORY: Final = timedelta(hours=1)


def _time(text: Any) -> datetime:
    """Return the time in UTC. Raises ValueError unless it is RFC 3339 or seconds since 1970."""
    if isinstance(text, datetime):  # given by the page
        return text
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


def _selector(text: Any) -> Selector:
    if not isinstance(text, str):
        raise ValueError("expected a text such as team=shop")
    return Selector.parse(text)


LabelSelector: TypeAlias = Annotated[
    Selector,
    PlainValidator(_selector),
    WithJsonSchema({"type": "string", "maxLength": MAX_SELECTOR, "pattern": PATTERN}),
]


class BadRequest(AutoscalerError):
    """A parameter or a key of the body is wrong: give it as the message says."""


class Parameters(BaseModel):
    """Base of parameters and bodies: unknown names are refused."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, frozen=True, defer_build=True)


def validated(model: type[_ModelT], given: Mapping[str, Any], noun: str) -> _ModelT:
    """Return the parameters or the body of a request. `noun`: what one of them is called. Raises BadRequest."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = str(first["loc"][0])[:64]
        if first["type"] == "extra_forbidden":
            known = ", ".join(sorted(field.alias or key for key, field in model.model_fields.items())) or "none"
            raise BadRequest(f"{name}: unknown {noun}; known: {known}") from None
        cause = str(first["ctx"]["error"]) if first["type"] == "value_error" else first["msg"]
        raise BadRequest(f"{name}: {cause[:1].lower()}{cause[1:]}") from None


class Nothing(Parameters):
    """No parameters."""


class ListParameters(Parameters):
    """Parameters of the list."""

    limit: Annotated[int, Field(ge=1, le=10_000)] = 1_000
    """Autoscalers in the answer at most."""
    offset: Annotated[int, Field(ge=0, le=INT32)] = 0
    """Autoscalers to skip."""
    name: Annotated[str, Field(max_length=253)] = ""
    """Only names that contain this text."""
    label_selector: LabelSelector | None = None
    """Only autoscalers whose labels match, such as `team=shop,tier in (web, api),!old`, as in kubectl."""
    state: AutoscalerState | None = None
    """Only configured autoscalers in this state; one that fails and is paused is in both."""


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
    offset: Annotated[int, Field(ge=0, le=INT32)] = 0
    """Newest events to skip."""
    merged: bool = True
    """true: equal events are one with a count; false: each is listed."""
