"""What a back end does not know about its instances: when the daemon first saw them, and saw their readiness turn."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from autoscaler.model import Instance, Phase, Sighting, Sightings


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
    complete = []
    for instance in instances:
        ready = True if instance.ready is None and instance.phase is Phase.RUNNING else instance.ready
        sighting = known.get(instance.name) or Sighting(now, ready, now)
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
