"""Builds everything that a configuration asks for, and makes it follow the next configuration."""

from autoscaler.runtime.leadership import Leadership
from autoscaler.runtime.options import RunOptions
from autoscaler.runtime.runtime import Runtime
from autoscaler.runtime.upkeep import Upkeep

__all__ = ["Leadership", "RunOptions", "Runtime", "Upkeep"]
