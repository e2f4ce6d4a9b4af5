"""The section of a connection of type memory."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, TypeAlias

from pydantic import Field, StringConstraints

from autoscaler.target import AdapterSettings, Duration

GroupName: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$")]
"""Names the group's file too, so it is a plain word."""


class GroupSettings(AdapterSettings):
    """One group of equal members."""

    initial_replicas: Annotated[int, Field(ge=1, le=10_000)] = 1
    """The size of a group that was never scaled; at least 1, for a size of 0 means that scaling is disabled."""
    startup_time: Duration = timedelta(0)
    """How long a new member is not ready."""
    scalable: bool = True
    """false: exists and can never be scaled, as a global service of Docker Swarm."""


class MemorySettings(AdapterSettings):
    """`adapters.NAME` of type memory."""

    groups: Annotated[Mapping[GroupName, GroupSettings], Field(min_length=1)]
    """Each is a target; scaleTargetRef.name is its name."""
