"""The configuration: reads one YAML file and returns checked settings with defaults."""

from autoscaler.config.authentication import BasicAuth, HeaderFile, OAuth2, SigV4, Tls
from autoscaler.config.large_file import load_for_daemon
from autoscaler.config.loader import connection_type, load
from autoscaler.config.settings import (
    AdapterSection,
    Compression,
    HaSettings,
    LogSettings,
    PrometheusSource,
    Settings,
    StateSettings,
    UnknownExpression,
    WebSettings,
)

__all__ = [
    "AdapterSection",
    "BasicAuth",
    "Compression",
    "HaSettings",
    "HeaderFile",
    "LogSettings",
    "OAuth2",
    "PrometheusSource",
    "Settings",
    "SigV4",
    "StateSettings",
    "Tls",
    "UnknownExpression",
    "WebSettings",
    "connection_type",
    "load",
    "load_for_daemon",
]
