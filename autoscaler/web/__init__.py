"""The daemon's HTTP server: health, /metrics, the `api` and the routes of the `page`."""

from autoscaler.web.server import WebServer, require_free
from autoscaler.web.sources import Sources
from autoscaler.web.webconfig import WebConfig, check_operators, load_web_config

__all__ = ["Sources", "WebConfig", "WebServer", "check_operators", "load_web_config", "require_free"]
