"""The settings of a connection of type command."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, Strict

from autoscaler.target import AdapterSettings, Command


class CommandSettings(AdapterSettings):
    """`adapters.NAME` of type command."""

    observe: Command
    """The program that reads targets, with its absolute path and its arguments. No shell runs."""
    scale: Command
    """The program that sets the size of one target, likewise."""
    env: Mapping[str, Annotated[str, Strict()]] = Field(default_factory=dict)
    """Variables in addition to the few that a program inherits."""
    concurrent_writes: Annotated[int, Strict(), Field(ge=1, le=64)] = 1
    """How many `scale` programs may run at a time, each for another target."""
