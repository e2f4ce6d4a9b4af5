"""What a back end does not know about its instances: when the daemon first saw them, and saw their readiness turn."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from autoscaler.model import Instance, Phase, Sighting, Sightings, TargetRef, TargetState


class Normalised(NamedTuple):
    """One target's instances with nothing left unknown, and what to remember of them."""

    instances: tuple[Instance, ...]
    sightings: Sightings
    """Of these instances alone: what has disappeared is forgotten."""


def normalise(known: Sightings, instances: Sequence[Instance], now: datetime) -> Normalised:
    """Fill in readiness and times.

    Running without health information is ready: HPA would hold an unknown readiness unready for ever. Times that the
    back end does not know are when the daemon first saw the instance, and first saw its readiness as it is.
    """
    seen: dict[str, Sighting] = {}
    first: dict[bool | None, Sighting] = {}  # by `ready`: equal ones are one object, for there may be a million
    complete = []
    for instance in instances:
        ready = True if instance.ready is None and instance.phase is Phase.RUNNING else instance.ready
        sighting = known.get(instance.name) or first.setdefault(ready, Sighting(now, ready, now))
        if sighting.ready is not ready:
            sighting = Sighting(sighting.first_seen, ready, now)
        seen[instance.name] = sighting
        filled = (ready, instance.ready_transition or sighting.ready_since, instance.started_at or sighting.first_seen)
        if filled == (instance.ready, instance.ready_transition, instance.started_at):
            complete.append(instance)  # nothing was unknown: most are like this, and copying thousands takes its time
        else:
            ready, transition, started = filled
            complete.append(replace(instance, ready=ready, ready_transition=transition, started_at=started))
    return Normalised(tuple(complete), seen)


class Normaliser:
    """Normalises the states of one connection's targets. One that stays what it was is not looked at again."""

    def __init__(self) -> None:
        self._last: dict[TargetRef, tuple[TargetState, Sightings, TargetState]] = {}
        """Target -> its last state, what was known of its instances, and the state with nothing left unknown."""

    def __call__(
        self, target: TargetRef, state: TargetState, known: Sightings, now: datetime
    ) -> tuple[TargetState, Sightings]:
        """The state with nothing left unknown, and what to remember of its instances: `known` itself if it is that."""
        last = self._last.get(target)
        if last is not None and last[0] is state and last[1] is known:
            return last[2], known
        normalised = normalise(known, state.instances, now)
        complete = state
        if normalised.instances != state.instances:
            complete = replace(state, instances=normalised.instances)
        if normalised.sightings != known:
            self._last.pop(target, None)
            return complete, normalised.sightings
        self._last[target] = state, known, complete
        return complete, known

    def follow(self, targets: Collection[TargetRef]) -> None:
        """Forget the targets that are not among these."""
        for target in self._last.keys() - targets:
            del self._last[target]
