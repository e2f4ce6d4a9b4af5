"""Draws values of any type of the model from its annotations, so that new fields are drawn, too."""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Final, NewType, Union, get_args, get_origin, get_type_hints

import msgspec
from hypothesis import strategies as st

from autoscaler import errors
from autoscaler.errors import TargetError
from autoscaler.model import Decision, Memories, Observation, Rules, UnknownRule
from autoscaler.rules import RULES

TEXTS: Final = st.text(st.characters(exclude_categories=()), max_size=4)
"""Includes halves of surrogate pairs and NUL, which back ends and JSON answers may contain."""
WHOLE: Final = st.integers(-(2**80), 2**80) | st.integers(-3, 300)
_ZONES: Final = st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30)), timezone(-timedelta(hours=8))])
_TIMES: Final = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=_ZONES)  # noqa: DTZ001 - the zone is drawn
_UNKNOWN: Final = TEXTS.map(lambda text: f"unknown {text}")
"""Names of rules that are not installed."""
_PLAIN: Final[Mapping[Any, st.SearchStrategy[Any]]] = {
    bool: st.booleans(),
    int: WHOLE,
    str: TEXTS,
    bytes: st.binary(max_size=4),
    float: st.floats(allow_nan=False),  # NaN is not equal to itself
    datetime: _TIMES,
    date: st.dates(),
    timedelta: st.timedeltas(-timedelta(days=9_000), timedelta(days=9_000)),
    NoneType: st.none(),
}


def target_errors() -> list[type[TargetError]]:
    """Return every class of target errors."""
    found = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, TargetError)]
    assert len(found) > 5
    return found


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for any value of this type."""
    if isinstance(kind, NewType):
        return values(kind.__supertype__)
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind in _DRAWN:
        return _DRAWN[kind]()
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return st.one_of([values(each) for each in arguments])
    if origin is tuple:
        if arguments[-1] is Ellipsis:
            return st.lists(values(arguments[0]), max_size=2).map(tuple)
        return st.tuples(*map(values, arguments))
    if origin is frozenset:
        return st.frozensets(values(arguments[0]), max_size=2)
    if origin is not None and issubclass(origin, Mapping):
        return st.dictionaries(values(arguments[0]), values(arguments[1]), max_size=2)
    if issubclass(kind, Enum):
        return st.sampled_from(kind)
    hints = _fields(kind)
    return st.builds(kind, **{name: st.deferred(_later(hint)) for name, hint in hints.items()})


def _target_errors() -> st.SearchStrategy[TargetError]:
    return st.one_of([st.builds(each, TEXTS) for each in target_errors()])


def _rules() -> st.SearchStrategy[Rules]:
    installed: list[st.SearchStrategy[Any]] = [st.none() | st.deferred(_later(kind)) for kind in RULES]
    unknown = st.none() | st.builds(UnknownRule, _UNKNOWN, st.binary(max_size=4))
    return st.tuples(*installed, unknown).map(lambda found: Rules([each for each in found if each is not None]))


def _memories() -> st.SearchStrategy[Memories]:
    known = {kind.name: st.deferred(_later(kind.memory)) for kind in RULES if kind.memory is not None}
    unknown = st.dictionaries(_UNKNOWN, st.binary(max_size=4), max_size=2)
    return st.builds(lambda of, others: Memories(of | others), st.fixed_dictionaries({}, optional=known), unknown)


_DRAWN: Final[Mapping[Any, Callable[[], st.SearchStrategy[Any]]]] = {
    TargetError: _target_errors,
    Rules: _rules,
    Memories: _memories,
}


def _fields(kind: Any) -> Mapping[str, Any]:
    """Return the types of the fields of a dataclass or a struct, without those of its own type."""
    names = {each.name for each in fields(kind)} if is_dataclass(kind) else set(kind.__struct_fields__)
    return {name: hint for name, hint in get_type_hints(kind).items() if name in names and kind not in get_args(hint)}


def _later(kind: Any) -> Any:
    return lambda: values(kind)


def comparable(value: Any) -> Any:
    """Return a form that is equal for equal values. Errors are equal if their class and their text are equal."""
    if isinstance(value, Exception):
        return type(value), str(value)
    if isinstance(value, Observation):
        return comparable(value.target), value.readings, value.victims, value.civil
    if isinstance(value, Decision):
        return {each.name: comparable(getattr(value, each.name)) for each in msgspec.structs.fields(value)}
    return value
