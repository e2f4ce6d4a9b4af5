"""The adapter contract: all that an adapter's author imports. `autoscaler.target.contract` is its test suite."""

from autoscaler.clock import Clock
from autoscaler.errors import (
    AdapterError,
    TargetError,
    TargetForbidden,
    TargetNotFound,
    TargetNotScalable,
    TargetRefused,
    TargetUnavailable,
)
from autoscaler.logger import Logger
from autoscaler.model import (
    Call,
    Conflict,
    Decision,
    Held,
    Hold,
    HoldReason,
    Instance,
    Limits,
    Phase,
    Proposed,
    ScaleChange,
    ScaleOutcome,
    TargetRef,
    TargetState,
    Unchanged,
    Written,
)
from autoscaler.quantity import Milli
from autoscaler.target.fields import LONGEST, AdapterSettings, ConfigPath, Duration, ExistingFile, ExistingPath
from autoscaler.target.protocol import Adapter, AdapterContext, AdapterType, Announces, Canonicalizes, Closes
from autoscaler.target.registry import installed, load

__all__ = [
    "LONGEST",
    "Adapter",
    "AdapterContext",
    "AdapterError",
    "AdapterSettings",
    "AdapterType",
    "Announces",
    "Call",
    "Canonicalizes",
    "Clock",
    "Closes",
    "ConfigPath",
    "Conflict",
    "Decision",
    "Duration",
    "ExistingFile",
    "ExistingPath",
    "Held",
    "Hold",
    "HoldReason",
    "Instance",
    "Limits",
    "Logger",
    "Milli",
    "Phase",
    "Proposed",
    "ScaleChange",
    "ScaleOutcome",
    "TargetError",
    "TargetForbidden",
    "TargetNotFound",
    "TargetNotScalable",
    "TargetRef",
    "TargetRefused",
    "TargetState",
    "TargetUnavailable",
    "Unchanged",
    "Written",
    "installed",
    "load",
]
