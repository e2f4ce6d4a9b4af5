"""The configuration: reads one YAML file and returns checked settings with defaults."""

from autoscaler.config.large_file import load_for_daemon
from autoscaler.config.loader import connection_type, load
from autoscaler.config.settings import (
    AdapterSection,
    BasicAuth,
    Compression,
    HaSettings,
    LogSettings,
    PrometheusSource,
    Settings,
    StateSettings,
    Tls,
    UnknownExpression,
    WebSettings,
)

__all__ = [
    "AdapterSection",
    "BasicAuth",
    "Compression",
    "HaSettings",
    "LogSettings",
    "PrometheusSource",
    "Settings",
    "StateSettings",
    "Tls",
    "UnknownExpression",
    "WebSettings",
    "connection_type",
    "load",
    "load_for_daemon",
]
