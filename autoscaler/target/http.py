"""HTTP with one peer under one deadline, for adapters. `autoscaler.net` has it.

`Session` is imported when it is first used: it needs requests, and `autoscaler check` loads the modules of adapters.
"""

from typing import TYPE_CHECKING, Any

from autoscaler.net import (
    MAX_ANSWER,
    USER_AGENT,
    Dropped,
    HttpError,
    Interrupted,
    Late,
    Malformed,
    Tls,
    TlsFailed,
    TooLarge,
    Unreachable,
    WithoutTls,
    in_mib,
    on_this_machine,
)
from autoscaler.net.answer import beginning, decoded
from autoscaler.net.connection import Dial, Left
from autoscaler.net.secrets import Secrets
from autoscaler.target.addresses import Addresses, NextAddress, cannot_serve

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
