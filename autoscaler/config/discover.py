"""A connection's `discover`: which autoscalers are made of what its back end has."""

from dataclasses import dataclass

from autoscaler.fields.part import Part
from autoscaler.fields.types import Flag


@dataclass(frozen=True, slots=True)
class Discover(Part):
    """Which autoscalers are made of what the back end has, each under the grant that includes its target."""

    policies: Flag
    """true: of the back end's scaling policies."""
    live: Flag = False
    """true: they scale. Default: they are dry runs."""
