"""The daemon's own HTTP server: health, /metrics, the `api`, and whatever it is given of the `page`."""

from autoscaler.web.server import ListenError, WebServer, serve
from autoscaler.web.sources import Sources
from autoscaler.web.webconfig import WebConfig, load_web_config, with_read_only_users

__all__ = ["ListenError", "Sources", "WebConfig", "WebServer", "load_web_config", "serve", "with_read_only_users"]
