"""A library for exchanges with one peer under one deadline, for files and for programs.

`autoscaler.net.session` has the session for requests. `autoscaler.net.connection` has its connections, for client
libraries with their own HTTP. Both import requests' libraries, which takes a tenth of a second. This module does not,
so that modules that `autoscaler check` loads may import it. Adapters find it as `http`, `files` and `programs` of
`autoscaler.target`.
"""

from autoscaler.net.errors import (
    Dropped,
    HttpError,
    Interrupted,
    Late,
    Malformed,
    TlsFailed,
    TooLarge,
    Unreachable,
)
from autoscaler.net.limits import LARGEST_ANSWER, Tls, in_mib, on_this_machine
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
