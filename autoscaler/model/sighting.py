"""What the daemon itself has seen of a target's instances, where the back end does not say."""

from collections.abc import Mapping
from datetime import datetime
from typing import TypeAlias

from msgspec import Struct


class Sighting(Struct, frozen=True, gc=False):
    """What is remembered of one instance."""

    first_seen: datetime
    ready: bool | None
    ready_since: datetime
    """When `ready` was first seen as it is."""
    first_ready: datetime | None = None
    """When it was ready for the first time. None: at `ready_since`, if it is ready."""


Sightings: TypeAlias = Mapping[str, Sighting]
"""Instance name -> sighting, of one target."""
