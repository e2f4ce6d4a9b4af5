"""What a back end does not know about its instances: when the daemon first saw them, and saw their readiness turn."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple, Protocol, TypeAlias

from autoscaler.model import Instance, Phase, TargetRef


@dataclass(frozen=True, slots=True)
class Sighting:
    """What is remembered of one instance."""

    first_seen: datetime
    ready: bool | None
    ready_since: datetime
    """When `ready` was first seen as it is."""


Known: TypeAlias = Mapping[str, Sighting]
"""Instance name -> sighting, of one target."""


class Sightings(Protocol):
    """The memory of all targets' sightings. Safe to use from several threads for different targets."""

    def load(self, targets: Sequence[TargetRef]) -> Mapping[TargetRef, Known]:
        """What is known of these; one never saved may be left out. Raises StateError."""

    def save(self, known: Mapping[TargetRef, Known]) -> None:
        """Replace what is known of these targets, and of no other. Raises StateError."""


class MemorySightings:
    """Sightings that a restart forgets."""

    def __init__(self) -> None:
        self._known: dict[TargetRef, Known] = {}
        self._lock = threading.Lock()

    def load(self, targets: Sequence[TargetRef]) -> Mapping[TargetRef, Known]:
        """What was saved of these."""
        with self._lock:
            return {target: self._known[target] for target in targets if target in self._known}

    def save(self, known: Mapping[TargetRef, Known]) -> None:
        """Replace what is known of these."""
        with self._lock:
            self._known.update(known)


class Seen(NamedTuple):
    """One target's instances with nothing left unknown, and what to remember of them."""

    instances: tuple[Instance, ...]
    known: Known
    """Of these instances alone: what has disappeared is forgotten."""


def normalise(known: Known, instances: Sequence[Instance], now: datetime) -> Seen:
    """Fill in readiness and times.

    Running without health information is ready: HPA would hold an unknown readiness unready for ever. Times that the
    back end does not know are when the daemon first saw the instance, and first saw its readiness as it is.
    """
    seen: dict[str, Sighting] = {}
    complete = []
    for instance in instances:
        ready = True if instance.ready is None and instance.phase is Phase.RUNNING else instance.ready
        sighting = known.get(instance.name) or Sighting(now, ready, now)
        if sighting.ready is not ready:
            sighting = replace(sighting, ready=ready, ready_since=now)
        seen[instance.name] = sighting
        filled = (ready, instance.ready_transition or sighting.ready_since, instance.started_at or sighting.first_seen)
        if filled == (instance.ready, instance.ready_transition, instance.started_at):
            complete.append(instance)  # nothing was unknown: most are like this, and copying thousands takes its time
        else:
            ready, transition, started = filled
            complete.append(replace(instance, ready=ready, ready_transition=transition, started_at=started))
    return Seen(tuple(complete), seen)
