"""Types of fields in the file, and references from one section to another."""

import difflib
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import timedelta
from heapq import nsmallest
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, TypedDict, cast

from pydantic import (
    AfterValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainSerializer,
    PlainValidator,
    Strict,
    StringConstraints,
    ValidationInfo,
    WithJsonSchema,
)

from autoscaler.cron import zone_of
from autoscaler.fields import promql
from autoscaler.labels import check_key, check_value
from autoscaler.quantity import (
    Milli,
    format_duration,
    format_quantity,
    format_size,
    parse_exact,
    parse_quantity,
    parse_size,
)
from autoscaler.target import Adapter, AdapterSettings, Duration
from autoscaler.text import listed

_MAX_COMPARED_CHARACTERS: Final = 100
_MAX_COMPARED: Final = 200
"""Among more names, the search for the nearest takes too long."""
_MAX_LISTED: Final = 30
INT32: Final = 2**31 - 1
"""The largest count of autoscaling/v2."""


class Scope(TypedDict):
    """The validation context: what names in the file may refer to."""

    folder: Path
    """What paths are relative to."""
    prometheus: Collection[str]
    queries: Mapping[str, Any]
    """The plain values of the shared queries."""
    expressions: promql.Parser
    """The parser of this file's expressions."""
    adapters: Mapping[str, type[Adapter] | None]
    """None: the type is wrong, which is reported elsewhere."""
    schedules: Mapping[str, Any]
    """The plain values of the shared schedules."""


def scope_of(info: ValidationInfo) -> Scope:
    """The context that `load` validates in."""
    return cast("Scope", info.context)


class Section(AdapterSettings):
    """Base of the file's sections."""

    model_config = ConfigDict(defer_build=True)  # one build for all of a file, when the first one is read


class HintedSection(Section):
    """Base of sections that can be valid and probably not what is meant."""

    def hints(self) -> Iterator[tuple[str, str]]:
        """Yield the keys with such values, each with what to do."""
        raise NotImplementedError


def _plain_key(text: str) -> str:
    return text.lower().replace("_", "").replace("-", "")


def suggest(name: str, known: Collection[str]) -> str:
    """What to do about an unknown name: use the nearest known name, or one of those that are listed."""
    if len(known) <= _MAX_COMPARED and len(name) <= _MAX_COMPARED_CHARACTERS:
        names = {_plain_key(each): each for each in sorted(known) if len(each) <= _MAX_COMPARED_CHARACTERS}
        near = difflib.get_close_matches(_plain_key(name), names, n=1)
        if near:
            return f"did you mean `{names[near[0]]}`?"
    shown = [each[:_MAX_COMPARED_CHARACTERS] for each in nsmallest(_MAX_LISTED, known)]
    return f"known: {listed(shown, _MAX_LISTED, len(known) - len(shown))}" if shown else "none is defined"


def matching(pattern: str, message: str) -> AfterValidator:
    """Return what checks that a whole text matches. `message` follows the text: what is wrong, and the remedy."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(f"{text[:64]!r} {message}")
        return text

    return AfterValidator(check)


def _size(value: Any) -> int:
    if not isinstance(value, str):
        raise ValueError(f'{str(value)[:64]!r} is not a valid size; write it as in "512MB" or "5GB"')
    return parse_size(value)


def _check_positive(value: timedelta) -> timedelta:
    if value <= timedelta(0):
        raise ValueError('0 is too short; write a duration above 0, as in "15s"')
    return value


def at_least(least: timedelta | int) -> AfterValidator:
    """Return a pydantic validator that refuses a shorter duration, or a smaller size in bytes."""
    written: Callable[[Any], str] = format_duration if isinstance(least, timedelta) else format_size
    short = "short" if isinstance(least, timedelta) else "small"

    def check(value: Any) -> Any:
        if value < least:
            raise ValueError(f"{written(value)} is too {short}; write at least {written(least)}")
        return value

    return AfterValidator(check)


def at_most(longest: timedelta) -> AfterValidator:
    """Return a pydantic validator that refuses a longer duration."""

    def check(value: timedelta) -> timedelta:
        if value > longest:
            raise ValueError(f"{format_duration(value)} is too long; write at most {format_duration(longest)}")
        return value

    return AfterValidator(check)


def _written(value: Any) -> str | int | float:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError('expected a quantity such as 2, 0.5, "500m" or "1Gi"')  # its own words for maps and lists
    return value


def _positive_quantity(value: Any) -> Milli:
    milli = parse_quantity(_written(value))
    if milli <= 0:
        raise ValueError(f"{value} is not above 0; write a positive quantity")
    return milli


def _quantity_or_zero(value: Any) -> Milli:
    milli = parse_quantity(_written(value))
    if milli < 0:
        raise ValueError(f"{value} is below 0; write a quantity of 0 or more")
    return milli


def _quantity_text(value: Milli) -> int | str:
    text = format_quantity(value)
    return int(text) if text.isdecimal() else text


def _ratio(value: Any) -> float:
    """A quantity at full precision: Kubernetes keeps a tolerance finer than thousandths."""
    ratio = parse_exact(_written(value))
    if ratio < 0:
        raise ValueError(f"{value} is below 0; write 0 or more, 0.1 is 10 %")
    return float(ratio)


def _expression(value: Any, info: ValidationInfo) -> promql.Expression:
    if not isinstance(value, str):
        raise ValueError("expected a text of PromQL; write it in quotes")
    return scope_of(info)["expressions"].parse(value)


def _check_zone(name: str) -> str:
    zone_of(name)
    return name


def two_forms(kind: type | tuple[type, ...], tag: str, other: str) -> Discriminator:
    """Return what tells a value of this kind from another. Tags are parts of pydantic's locations: none is a key."""
    return Discriminator(lambda value: tag if isinstance(value, kind) else other)


_QUANTITY_SCHEMA: Final = WithJsonSchema({"type": ["number", "string"], "examples": [100, "500m", "1Gi"]})

_DNS_LABEL: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
DnsName: TypeAlias = Annotated[
    str,
    matching(
        rf"(?=.{{1,253}}\Z){_DNS_LABEL}(?:\.{_DNS_LABEL})*",
        "is not a valid name; use at most 253 lower-case letters, digits, `-`, `.`, as in Kubernetes",
    ),
]
"""A DNS subdomain, as in Kubernetes. It can be a part of a path or URL."""
Word: TypeAlias = Annotated[
    str,
    matching(
        r"[A-Za-z0-9](?:[-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?",
        "is not a valid name; use at most 63 letters, digits, `-`, `_` and `.` (it names a folder)",
    ),
]
LabelName: TypeAlias = Annotated[
    str,
    matching(
        r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]+",
        "is not a valid label name; use printable characters, at least one",
    ),
]
"""A label of a sample, as in Prometheus 3: `k8s.pod.name`, too."""
LabelKey: TypeAlias = Annotated[str, AfterValidator(check_key)]
"""A label of an autoscaler, as in Kubernetes."""
LabelValue: TypeAlias = Annotated[str, AfterValidator(check_value)]
Text: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=1024)]
Zone: TypeAlias = Annotated[
    Text, AfterValidator(_check_zone), WithJsonSchema({"type": "string", "examples": ["Europe/Berlin"]})
]
"""A zone of the IANA database."""
Flag: TypeAlias = Annotated[bool, Strict()]
Count: TypeAlias = Annotated[int, Strict(), Field(ge=1, le=INT32)]
CountOrZero: TypeAlias = Annotated[int, Strict(), Field(ge=0, le=INT32)]
PositiveDuration: TypeAlias = Annotated[Duration, AfterValidator(_check_positive)]
Size: TypeAlias = Annotated[
    int,
    PlainValidator(_size),
    PlainSerializer(format_size, return_type=str),
    WithJsonSchema({"type": "string", "pattern": r"^[0-9]+(B|[KMGTPE]i?B)$", "examples": ["512MB", "5GB"]}),
]
"""Bytes, as Prometheus' retention.size: `512MB`, where 1KB is 1024B."""
SyncPeriod: TypeAlias = Annotated[PositiveDuration, at_least(timedelta(seconds=1))]
_AS_QUANTITY: Final = PlainSerializer(_quantity_text, return_type=int | str)
PositiveQuantity: TypeAlias = Annotated[Milli, PlainValidator(_positive_quantity), _AS_QUANTITY, _QUANTITY_SCHEMA]
QuantityOrZero: TypeAlias = Annotated[Milli, PlainValidator(_quantity_or_zero), _AS_QUANTITY, _QUANTITY_SCHEMA]
Ratio: TypeAlias = Annotated[float, PlainValidator(_ratio), _QUANTITY_SCHEMA]
Expr: TypeAlias = Annotated[
    promql.Expression,
    PlainValidator(_expression),
    PlainSerializer(attrgetter("text"), return_type=str),
    WithJsonSchema({"type": "string"}),
]


def _reference(
    section: Literal["prometheus", "queries", "adapters", "schedules"], noun: str
) -> Callable[[str, ValidationInfo], str]:
    def check(name: str, info: ValidationInfo) -> str:
        known = scope_of(info)[section]
        if name not in known:
            raise ValueError(f"no {noun} {name[:64]!r} in `{section}`; {suggest(name, known)}")
        return name

    return check


SourceName: TypeAlias = Annotated[str, AfterValidator(_reference("prometheus", "source"))]
QueryName: TypeAlias = Annotated[str, AfterValidator(_reference("queries", "query"))]
ScheduleName: TypeAlias = Annotated[str, AfterValidator(_reference("schedules", "schedule"))]
AdapterName: TypeAlias = Annotated[str, AfterValidator(_reference("adapters", "connection"))]
