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


def normalise(known: Sightings | None, instances: Sequence[Instance], now: datetime) -> Normalised:
    """Fill in readiness and times. `known`: None if the daemon has never seen the target.

    A running instance without health information is ready; HPA would never consider it ready. Unknown times are those
    at which the daemon first saw the instance and its current readiness. A new target's ready instances were ready for
    the first time before that; the only time that is known is their start.
    """
    seen: dict[str, Sighting] = {}
    # by `ready`; equal sightings share one object, because there may be a million
    first: dict[bool | None, Sighting] = {}
    complete = []
    for instance in instances:
        ready = True if instance.ready is None and instance.phase is Phase.RUNNING else instance.ready
        sighting = None if known is None else known.get(instance.name)
        if sighting is None:
            if known is None and ready and instance.ready_transition is None and instance.started_at is not None:
                sighting = Sighting(now, ready, now, instance.started_at)
            else:
                sighting = first.setdefault(ready, Sighting(now, ready, now))
        elif sighting.ready is not ready:
            before = sighting.first_ready or (sighting.ready_since if sighting.ready else None)
            sighting = Sighting(sighting.first_seen, ready, now, before)
        seen[instance.name] = sighting
        transition = instance.ready_transition or sighting.ready_since
        first_ready = sighting.first_ready
        if first_ready is None and ready and transition > sighting.ready_since:  # by a clock that is ahead
            first_ready = sighting.ready_since
        filled = (ready, transition, instance.started_at or sighting.first_seen, first_ready)
        if filled == (instance.ready, instance.ready_transition, instance.started_at, instance.first_ready):
            complete.append(instance)  # the usual case; copying thousands of instances takes time
        else:
            ready, transition, started, first_ready = filled
            complete.append(
                replace(instance, ready=ready, ready_transition=transition, started_at=started, first_ready=first_ready)
            )
    return Normalised(tuple(complete), seen)


class Normaliser:
    """Normalises the states of one connection's targets. Skips targets that did not change."""

    def __init__(self) -> None:
        self._last: dict[TargetRef, tuple[TargetState, Sightings, TargetState]] = {}
        """Target -> its last state, the sightings then, and the normalised state."""

    def __call__(
        self, target: TargetRef, state: TargetState, known: Sightings | None, now: datetime
    ) -> tuple[TargetState, Sightings]:
        """Return the state without unknown values, and the sightings to remember: `known` itself if unchanged.

        `known`: None if the daemon has never seen the target.
        """
        last = self._last.get(target)
        if last is not None and known is not None and last[0] is state and last[1] is known:
            return last[2], known
        normalised = normalise(known, state.instances, now)
        complete = state
        if normalised.instances != state.instances:
            complete = replace(state, instances=normalised.instances)
        if known is None or normalised.sightings != known:
            self._last.pop(target, None)
            return complete, normalised.sightings
        self._last[target] = state, known, complete
        return complete, known

    def follow(self, targets: Collection[TargetRef]) -> None:
        """Forget all targets but these."""
        for target in self._last.keys() - targets:
            del self._last[target]
