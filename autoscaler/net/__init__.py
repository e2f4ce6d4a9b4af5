"""A library for exchanges with one peer under one deadline, for files and for programs.

`autoscaler.net.session` has the session for requests, whose import takes a tenth of a second; what `autoscaler check`
loads may import all the others. `autoscaler.net.connection` has the session's connections, for client libraries with
their own HTTP. Adapters find it as `http`, `files` and `programs` of `autoscaler.target`.
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
    WithoutTls,
)
from autoscaler.net.limits import MAX_ANSWER, Tls, in_mib, on_this_machine
from autoscaler.version import USER_AGENT

__all__ = [
    "MAX_ANSWER",
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
    "WithoutTls",
    "in_mib",
    "on_this_machine",
]
