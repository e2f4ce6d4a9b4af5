"""A state of schema version 1: its tables and its values, for reading alone.

Values were JSON, packed by zlib. A field at its default was left out, times were microseconds, a value of several
possible classes was `[class, value]`, and what was to be remembered stood in a place: `{"index": 3, "entry": {...}}`.
"""

import json
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from datetime import datetime, timedelta
from enum import Enum
from functools import cache, lru_cache
from types import NoneType, UnionType
from typing import Any, Final, Generic, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from sqlalchemy import BigInteger, Boolean, Column, Integer, LargeBinary, MetaData, SmallInteger, Table, Text

from autoscaler.errors import StateError
from autoscaler.model import (
    Condition,
    Decision,
    InstanceReading,
    MetricOutcome,
    Observation,
    Recommendation,
    ScaleEvent,
    Status,
    TargetState,
)
from autoscaler.record.times import from_micros

_T = TypeVar("_T")
_Convert: TypeAlias = Callable[[Any], Any]

SCHEMA: Final = "autoscaler_v1"
"""How its tables are reached beside those of today: a schema on PostgreSQL, an attached file on SQLite."""

metadata: Final = MetaData(schema=SCHEMA)

schema_version: Final = Table("schema_version", metadata, Column("version", Integer))

autoscaler: Final = Table(
    "autoscaler",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text),
    Column("target", Text),
    Column("at", BigInteger),  # of the last decision or intent
    Column("spec_at", BigInteger),
    Column("standing", LargeBinary),  # Standing
)

spec: Final = Table(
    "spec",
    metadata,
    Column("autoscaler_id", Integer, primary_key=True),
    Column("at", BigInteger, primary_key=True),
    Column("minimum", BigInteger),
    Column("maximum", BigInteger),
    Column("body", LargeBinary),  # model.Autoscaler
)

slot: Final = Table(
    "slot",
    metadata,
    Column("autoscaler_id", Integer, primary_key=True),
    Column("kind", SmallInteger, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("amount", BigInteger),
    Column("at", BigInteger),
)
RECOMMENDATION: Final = 0
SCALE_UP: Final = 1
SCALE_DOWN: Final = 2

intent: Final = Table(
    "intent",
    metadata,
    Column("autoscaler_id", Integer, primary_key=True),
    Column("size", BigInteger),
    Column("decided_from", BigInteger),
    Column("at", BigInteger),
)

decision: Final = Table(
    "decision",
    metadata,
    Column("autoscaler_id", Integer, primary_key=True),
    Column("at", BigInteger, primary_key=True),
    Column("spec_at", BigInteger),
    Column("basis_at", BigInteger),  # of the decision whose body is the dictionary of this one's
    Column("body", LargeBinary),  # Seen
)

event: Final = Table(
    "event",
    metadata,
    Column("id", BigInteger, primary_key=True),
    Column("autoscaler_id", Integer),
    Column("at", BigInteger),
    Column("dry_run", Boolean),
    Column("type", Text),
    Column("reason", Text),
    Column("message", Text),
)

sighting: Final = Table(
    "sighting", metadata, Column("target", Text, primary_key=True), Column("body", LargeBinary)
)  # instance -> model.Sighting

steering: Final = Table(
    "steering", metadata, Column("name", Text, primary_key=True), Column("body", LargeBinary)
)  # model.Steering


@dataclass(frozen=True, slots=True)
class Standing:
    """The conditions and the status that an autoscaler remembered."""

    conditions: tuple[Condition, ...]
    status: Status


@dataclass(frozen=True, slots=True)
class Seen:
    """What a decision was made from and came to."""

    observation: Observation
    decision: Decision


class Values(Generic[_T]):
    """Reads one type of value."""

    def __init__(self, kind: Any) -> None:
        self._decode = _decoder(kind) or _same

    def load(self, data: bytes) -> _T:
        """The value of this JSON. Raises StateError."""
        try:
            value: _T = self._decode(_parse(data))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise StateError(f"a recorded value cannot be read: {type(error).__name__}: {error}") from error
        return value


def _parse(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)  # several times as fast, and stricter
    except (msgspec.MsgspecError, UnicodeError):
        return json.loads(data)  # infinities, and surrogates without their other half


def unpack(data: bytes, dictionary: bytes = b"") -> bytes:
    """What was packed with this dictionary. Raises StateError."""
    expand = zlib.decompressobj(zdict=dictionary)
    try:
        return expand.decompress(data) + expand.flush()
    except zlib.error as error:
        raise StateError(f"a recorded value cannot be unpacked: {error}") from error


_REPEATED: Final = (TargetState, MetricOutcome, Status)


class _Repeated:
    """A decoder of what mostly repeats itself: the same JSON as just before gives the same value."""

    def __init__(self, decode: _Convert) -> None:
        self._decode = decode
        self._last: tuple[Any, Any] = (None, None)

    def __call__(self, plain: Any) -> Any:
        last, value = self._last
        if plain is None or plain != last:
            value = self._decode(plain)
            self._last = plain, value
        return value


@cache
def _decoder(hint: Any) -> _Convert | None:
    """How JSON becomes a value of the annotated type; None: it is one."""
    kind, arguments = get_origin(hint) or hint, get_args(hint)
    if kind in (str, int, float, bool):
        return None
    if kind is datetime:
        return lru_cache(from_micros)  # all samples of a reading have a time or two
    if kind is timedelta:
        return lru_cache(lambda micros: timedelta(microseconds=micros))
    if kind in (Union, UnionType):
        return _union(tuple([member for member in arguments if member is not NoneType]))
    if kind in (Recommendation, ScaleEvent):
        entry = _fields(kind)
        return lambda place: entry(place["entry"])
    if is_dataclass(kind) or issubclass(kind, msgspec.Struct):
        return _Repeated(_fields(kind)) if kind in _REPEATED else _fields(kind)
    if issubclass(kind, Enum):
        return {member.value: member for member in kind}.__getitem__
    if issubclass(kind, Exception):
        construct: _Convert = kind
        return construct
    return _collection(kind, arguments)


def _collection(kind: Any, arguments: tuple[Any, ...]) -> _Convert:
    if kind is tuple and not (len(arguments) == 2 and arguments[1] is Ellipsis):
        parts = [_decoder(argument) or _same for argument in arguments]
        return lambda value: tuple([convert(item) for convert, item in zip(parts, value, strict=True)])
    item = _decoder(arguments[-1 if issubclass(kind, Mapping) else 0])
    if issubclass(kind, Mapping):
        return dict if item is None else lambda value: {key: item(part) for key, part in value.items()}
    return kind if item is None else lambda value: kind([item(part) for part in value])


def _same(value: Any) -> Any:
    return value


def _union(kinds: tuple[Any, ...]) -> _Convert | None:
    if len(kinds) == 1 and not issubclass(get_origin(kinds[0]) or kinds[0], Exception):
        decode = _decoder(kinds[0])
        return None if decode is None else lambda value: None if value is None else decode(value)
    classes = {member.__name__: _decoder(member) or _same for kind in kinds for member in _family(kind)}
    return lambda value: None if value is None else classes[value[0]](value[1])


def _family(kind: Any) -> list[Any]:
    """A class, or an error and all the errors under it that this project defines."""
    if not issubclass(kind, Exception):
        return [kind]
    below = [member for child in kind.__subclasses__() for member in _family(child)]
    return [kind, *[member for member in below if member.__module__ == kind.__module__]]


_MORE: Final = re.compile(r"and (\d+) more")


def _fields(kind: Any) -> _Convert:
    hints = get_type_hints(kind)
    converting = [(name, convert) for name, hint in hints.items() if (convert := _decoder(hint)) is not None]
    counts_unmatched = kind in (InstanceReading, MetricOutcome)

    def decode(value: dict[str, Any]) -> Any:
        parts = value.copy()
        for name, convert in converting:
            if name in parts:
                parts[name] = convert(parts[name])
        if counts_unmatched and "unmatched" in parts and (more := _MORE.fullmatch(parts["unmatched"][-1])):
            parts["unmatched"], parts["more_unmatched"] = parts["unmatched"][:-1], int(more[1])
        return kind(**parts)

    return decode
