"""Everything that a configuration asks for, built; and made to follow the next configuration."""

from autoscaler.runtime.membership import Membership
from autoscaler.runtime.runtime import Runtime

__all__ = ["Membership", "Runtime"]
