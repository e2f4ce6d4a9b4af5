"""Everything that a configuration asks for, built; and made to follow the next configuration."""

from autoscaler.runtime.membership import Membership
from autoscaler.runtime.runtime import Runtime
from autoscaler.runtime.upkeep import Upkeep
from autoscaler.runtime.wanted import refuse_other_hosts

__all__ = ["Membership", "Runtime", "Upkeep", "refuse_other_hosts"]
