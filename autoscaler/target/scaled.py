"""What an autoscaler scales, as one text: two ways to write the same target give the same text.

What is remembered of a target belongs to this text and not to names, so an autoscaler or a connection that is renamed,
on one host after another, goes on with its windows, policies and pending writes.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeAlias

import msgspec

from autoscaler.model import TargetRef
from autoscaler.target.registry import load

Scaled: TypeAlias = str
"""A JSON array: the adapter's type, the connection's place, and the target's name, namespace and region."""
Identify: TypeAlias = Callable[[TargetRef], Scaled]
"""Returns what a target of the configuration is, by the text above."""


@dataclass(frozen=True, slots=True)
class Place:
    """A connection of the configuration."""

    type: str
    settings: Any
    """The adapter's own."""


def identify(places: Mapping[str, Place]) -> Identify:
    """Return the function for the targets of these connections, by connection name. Other targets are their own text.

    The function keeps no target, because a shard uses that of an old configuration until its own part changes. An
    adapter that fails leaves the target as it is written: the check of the configuration reports it.
    """
    where = cache(lambda name: _where(name, places[name]))

    def scaled(target: TargetRef) -> Scaled:
        place = places.get(target.adapter)
        if place is None:
            return text_of("", target.adapter, target)
        return text_of(place.type, where(target.adapter), _canonical(target, place))

    return scaled


def text_of(kind: str, place: str, target: TargetRef) -> Scaled:
    """Return the text of a canonical target of this adapter type and place."""
    parts = [kind, place, target.name, target.namespace, target.region]
    while parts[-1] is None:
        parts.pop()
    return msgspec.json.encode([part and _plain(part) for part in parts]).decode()


def without_place(scaled: Scaled) -> tuple[str | None, ...]:
    """Return the parts of such a text but the connection's place; the text itself if it is damaged."""
    try:
        kind, _, *rest = msgspec.json.decode(scaled, type=list[str | None])
    except (msgspec.DecodeError, ValueError):
        return (scaled,)
    return kind, *rest


def _where(name: str, place: Place) -> str:
    """Return the place as text. Without one of its own, that is the connection's name, after a mark."""
    try:
        found = load(place.type).place(place.settings)
    except Exception:  # noqa: BLE001 - see `identify`
        found = None
    if not isinstance(found, str):
        return f"{_NAMED}{name}"
    if len(found) <= _LONGEST:
        return found
    return hashlib.blake2b(found.encode("utf-8", "surrogatepass"), digest_size=32).hexdigest()


_NAMED: Final = "/"
"""No address begins with it."""
_LONGEST: Final = 500
"""Characters of a place. PostgreSQL refuses an index row beyond 2,700 bytes, so a longer place is its digest."""


def _canonical(target: TargetRef, place: Place) -> TargetRef:
    try:
        found = load(place.type).canonical(target, place.settings)
    except Exception:  # noqa: BLE001 - see `identify`
        return target
    return found if isinstance(found, TargetRef) else target


def _plain(part: str) -> str:
    """Return a text without unpaired surrogates, which JSON cannot hold: the Latin-1 reading of its UTF-8."""
    return part.encode("utf-8", "surrogatepass").decode("latin-1")


AS_WRITTEN: Final = identify({})
"""Of no connection: a target is its own text."""
