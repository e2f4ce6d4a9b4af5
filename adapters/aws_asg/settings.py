"""The settings of a connection of type aws-asg."""

from datetime import timedelta
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from adapters.aws.settings import AwsSettings
from autoscaler.target import AdapterSettings, Duration


class OnInstanceRefresh(StrEnum):
    """What an instance refresh in progress holds."""

    HOLD = "hold"
    HOLD_SCALE_IN = "holdScaleIn"
    IGNORE = "ignore"


class CircuitBreaker(AdapterSettings):
    """When scale-out is held because launches fail."""

    failures: Annotated[int, Field(ge=1, le=100)] = 3
    """Consecutive failed launches before scale-out is held."""
    retry_after: Duration = timedelta(minutes=5)
    """How long scale-out is held. Then one scale-out is attempted."""


class AsgSettings(AwsSettings):
    """The groups of one account in one region."""

    honor_cooldown: bool = False
    """true: the adapter does not set a size during the group's own cooldown."""
    on_instance_refresh: OnInstanceRefresh = OnInstanceRefresh.HOLD_SCALE_IN
    """What waits for the end of an instance refresh: all scaling, scale-in alone, or nothing."""
    circuit_breaker: CircuitBreaker = CircuitBreaker()
    """Holds scale-out while the group's launches keep failing."""
