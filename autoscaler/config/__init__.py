"""The configuration: one YAML file to typed, defaulted, cross-checked settings."""

from autoscaler.config.apart import load_apart
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
    "load_apart",
]
