"""Builds everything that a configuration asks for, and makes it follow the next configuration."""

from autoscaler.runtime.membership import Membership
from autoscaler.runtime.options import RunOptions
from autoscaler.runtime.runtime import Runtime
from autoscaler.runtime.upkeep import Upkeep

__all__ = ["Membership", "RunOptions", "Runtime", "Upkeep"]
