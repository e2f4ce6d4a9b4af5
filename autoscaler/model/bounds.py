"""The bounds in force, each with what sets it."""

from typing import Final

from msgspec import Struct

HPA: Final = "hpa"
"""The source of what is HPA's own, and no rule's."""
TARGET: Final = "target"
"""The source of what the target itself asks for."""
LIMITS: Final = "limits"
"""The source of what the limits of the connection allow."""


class Bound(Struct, frozen=True, gc=False, array_like=True, omit_defaults=True):
    """The minimum or the maximum."""

    size: int
    of: str
    """What sets it, for messages: "minReplicas", "the maximum of schedule night"."""
    source: str = HPA
    """HPA, TARGET, or a rule's name."""
    recommended: bool = False
    """Whether it also bounds recommendations, and is one while metrics fail. A size above such a maximum falls step by
    step, as one that metrics ask for."""


class Bounds(Struct, frozen=True, gc=False, array_like=True):
    """The sizes that are allowed. There are none if the minimum is above the maximum."""

    minimum: Bound
    maximum: Bound
