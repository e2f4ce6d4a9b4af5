"""The adapter contract: protocol, settings fields, registry; `autoscaler.target.contract` is its test suite."""

from autoscaler.target.fields import LONGEST, AdapterSettings, ConfigPath, Duration, ExistingFile, ExistingPath
from autoscaler.target.protocol import (
    Adapter,
    AdapterContext,
    AdapterType,
    Announces,
    Canonicalizes,
    Clock,
    Closes,
    Logger,
)
from autoscaler.target.registry import installed, load

__all__ = [
    "LONGEST",
    "Adapter",
    "AdapterContext",
    "AdapterSettings",
    "AdapterType",
    "Announces",
    "Canonicalizes",
    "Clock",
    "Closes",
    "ConfigPath",
    "Duration",
    "ExistingFile",
    "ExistingPath",
    "Logger",
    "installed",
    "load",
]
