"""The settings of a connection of type memory."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, TypeAlias

from pydantic import Field, StringConstraints

from autoscaler.target import AdapterSettings, Duration

GroupName: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$")]
"""The group's name, which also names its file."""


class GroupSettings(AdapterSettings):
    """One group of equal members."""

    initial_replicas: Annotated[int, Field(ge=1, le=10_000)] = 1
    """Size of a group that was never scaled. At least 1, because a size of 0 disables scaling."""
    startup_time: Duration = timedelta(0)
    """How long a new member is not ready."""
    scalable: bool = True
    """false: the group exists and cannot be scaled, like a global service of Docker Swarm."""


class MemorySettings(AdapterSettings):
    """`adapters.NAME` of type memory."""

    groups: Annotated[Mapping[GroupName, GroupSettings], Field(min_length=1)]
    """Each is a target; scaleTargetRef.name is its name."""
