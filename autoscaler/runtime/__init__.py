"""Everything that a configuration asks for, built; and made to follow the next configuration."""

from autoscaler.runtime.membership import Membership
from autoscaler.runtime.options import RunOptions
from autoscaler.runtime.runtime import Runtime
from autoscaler.runtime.upkeep import Upkeep

__all__ = ["Membership", "RunOptions", "Runtime", "Upkeep"]
