"""HTTP with one peer under one deadline, for adapters and the Prometheus client.

`autoscaler.target.http.session` has the session for requests. `autoscaler.target.http.connection` has its connections,
for client libraries with their own HTTP. Both import requests' libraries, which takes a tenth of a second. This module
does not, so that modules that `autoscaler check` loads may import it.
"""

from autoscaler.target.http.errors import (
    Dropped,
    HttpError,
    Interrupted,
    Late,
    Malformed,
    TlsFailed,
    TooLarge,
    Unreachable,
)
from autoscaler.target.http.limits import LARGEST_ANSWER, Tls, in_mib, on_this_machine
from autoscaler.version import USER_AGENT

__all__ = [
    "LARGEST_ANSWER",
    "USER_AGENT",
    "Dropped",
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
