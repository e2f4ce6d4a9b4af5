"""HTTP with one peer under one deadline, for adapters. `autoscaler.net` has it.

`Session` is imported when it is first used: it needs requests, and `autoscaler check` loads the modules of adapters.
"""

from typing import TYPE_CHECKING, Any

from autoscaler.net.answer import beginning, decoded
from autoscaler.net.connection import Dial, Left
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
from autoscaler.net.secrets import Secrets
from autoscaler.target.addresses import Addresses, NextAddress, cannot_serve
from autoscaler.version import USER_AGENT

if TYPE_CHECKING:
    from autoscaler.net.session import Session

__all__ = [
    "MAX_ANSWER",
    "USER_AGENT",
    "Addresses",
    "Dial",
    "Dropped",
    "HttpError",
    "Interrupted",
    "Late",
    "Left",
    "Malformed",
    "NextAddress",
    "Secrets",
    "Session",
    "Tls",
    "TlsFailed",
    "TooLarge",
    "Unreachable",
    "WithoutTls",
    "beginning",
    "cannot_serve",
    "decoded",
    "in_mib",
    "on_this_machine",
]


def __getattr__(name: str) -> Any:
    if name == "Session":
        from autoscaler.net.session import Session  # noqa: PLC0415 - keeps `check` fast

        return Session
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
