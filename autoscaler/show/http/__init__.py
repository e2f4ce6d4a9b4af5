"""The daemon's own HTTP server: health, metrics, the API and whatever pages it is given."""

from autoscaler.show.http.server import ListenError, WebServer, serve
from autoscaler.show.http.sources import Sources
from autoscaler.show.http.webconfig import WebConfig, load_web_config

__all__ = ["ListenError", "Sources", "WebConfig", "WebServer", "load_web_config", "serve"]
