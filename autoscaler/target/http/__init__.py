"""HTTP with one peer, under one deadline: what adapters and Prometheus' client send their requests with.

`autoscaler.target.http.session` has the session for requests. `autoscaler.target.http.connection` has the connections
under it, for a client library that brings its own HTTP. Both import requests' libraries, which take a tenth of a
second; this module does not, so that a module that `autoscaler check` loads may import it.
"""

from autoscaler.target.http.errors import HttpError, Interrupted, Late, Malformed, TlsFailed, TooLarge, Unreachable
from autoscaler.target.http.limits import LARGEST_ANSWER, Tls, in_mib, on_this_machine
from autoscaler.version import USER_AGENT

__all__ = [
    "LARGEST_ANSWER",
    "USER_AGENT",
    "HttpError",
    "Interrupted",
    "Late",
    "Malformed",
    "Tls",
    "TlsFailed",
    "TooLarge",
    "Unreachable",
    "in_mib",
    "on_this_machine",
]
