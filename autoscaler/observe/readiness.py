"""Fills in times that a back end does not report: when the daemon first saw an instance and its readiness."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from autoscaler.model import Instance, Phase, Sighting, Sightings, TargetRef, TargetState


class Normalised(NamedTuple):
    """One target's instances without unknown values, and what to remember of them."""

    instances: tuple[Instance, ...]
    sightings: Sightings
    """Of the present instances only."""


def normalise(known: Sightings, instances: Sequence[Instance], now: datetime) -> Normalised:
    """Fill in readiness and times.

    A running instance without health information is ready; HPA would never consider it ready. Unknown times are those
    at which the daemon first saw the instance and its current readiness.
    """
    seen: dict[str, Sighting] = {}
    # by `ready`; equal sightings share one object, because there may be a million
    first: dict[bool | None, Sighting] = {}
    complete = []
    for instance in instances:
        ready = True if instance.ready is None and instance.phase is Phase.RUNNING else instance.ready
        sighting = known.get(instance.name) or first.setdefault(ready, Sighting(now, ready, now))
        if sighting.ready is not ready:
            sighting = Sighting(sighting.first_seen, ready, now)
        seen[instance.name] = sighting
        filled = (ready, instance.ready_transition or sighting.ready_since, instance.started_at or sighting.first_seen)
        if filled == (instance.ready, instance.ready_transition, instance.started_at):
            complete.append(instance)  # the usual case; copying thousands of instances takes time
        else:
            ready, transition, started = filled
            complete.append(replace(instance, ready=ready, ready_transition=transition, started_at=started))
    return Normalised(tuple(complete), seen)


class Normaliser:
    """Normalises the states of one connection's targets. Skips targets that did not change."""

    def __init__(self) -> None:
        self._last: dict[TargetRef, tuple[TargetState, Sightings, TargetState]] = {}
        """Target -> its last state, the sightings then, and the normalised state."""

    def __call__(
        self, target: TargetRef, state: TargetState, known: Sightings, now: datetime
    ) -> tuple[TargetState, Sightings]:
        """Return the state without unknown values, and the sightings to remember: `known` itself if unchanged."""
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
        """Forget all other targets."""
        for target in self._last.keys() - targets:
            del self._last[target]
