"""What is remembered, at another time: after the wall clock was set everything keeps its age."""

from datetime import datetime, timedelta
from typing import TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from autoscaler.model.rule import Memories
from autoscaler.model.steering import ManualControls

_T = TypeVar("_T")


def later(value: _T, by: timedelta) -> _T:
    """Return a copy of `value` (a History, a part of one, or sightings) in which every time is later by `by`.

    The ends of pauses and overrides stay: operators were told these times of the wall clock.
    """
    return cast("_T", _later(value, by))


def _later(value: object, by: timedelta) -> object:
    if isinstance(value, datetime):
        return value + by
    if isinstance(value, tuple):
        return tuple([_later(each, by) for each in value])
    if isinstance(value, dict):
        return {key: _later(each, by) for key, each in value.items()}
    if isinstance(value, Memories):
        return Memories({name: later(each, by) for name, each in value.of.items()})
    if isinstance(value, Struct) and not isinstance(value, ManualControls):
        return replace(value, **{name: _later(getattr(value, name), by) for name in value.__struct_fields__})
    return value
