"""The TargetError for each failed exchange with an engine."""

from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

import requests

from adapters.docker_swarm.settings import Endpoint
from autoscaler.target import (
    TargetError,
    TargetForbidden,
    TargetNotFound,
    TargetNotWritten,
    TargetRefused,
    TargetUnavailable,
    plain,
)
from autoscaler.target.http import HttpError, Late, Malformed, TlsFailed, Unreachable, beginning, decoded

_UNKNOWN: Final = "; whether the size was set is unknown until the next cycle"
_NOTHING: Final = "; nothing was changed"
_SHOWN: Final = 300
"""Bytes of the engine's message that are shown."""
_TRY_AGAIN: Final = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)


class EngineRefusal(Exception):
    """The engine, or another server in its place, answered with an error status."""

    def __init__(self, answer: requests.Response) -> None:
        self.answer = answer
        super().__init__(f"HTTP {answer.status_code}")


def failure(endpoint: Endpoint, doing: str, error: HttpError, ssh_errors: str, *, write: bool) -> TargetError:
    """Return the TargetError for an exchange without an answer. `ssh_errors`: the ssh clients' error output."""
    unknown, nothing = (_UNKNOWN, _NOTHING) if write else ("", "")
    match error:
        case Unreachable():
            kind = TargetNotWritten if write else TargetUnavailable
            return kind(f"{endpoint} cannot be reached: {error}{nothing}")
        case Late():
            return TargetUnavailable(f"{endpoint}: {doing}: no answer within the cycle's deadline{unknown}")
        case TlsFailed():
            return TargetForbidden(
                f"{endpoint}: {doing}: TLS failed: {error}; check caFile, certFile and keyFile{nothing}"
            )
    return TargetUnavailable(f"{endpoint}: {doing}: {ssh_errors or error}{unknown}")


def refused(where: str, answer: requests.Response, *, write: bool) -> TargetError:
    """Return the TargetError for an answer with an error status. `where` begins its message."""
    unknown, nothing = (_UNKNOWN, _NOTHING) if write else ("", "")
    status = answer.status_code
    text = f"{where}: HTTP {status}: {_message(answer)}"
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        request = f"{answer.request.method} {urlsplit(answer.request.path_url).path}"
        return TargetForbidden(f"{text}; give the daemon access to this engine; a proxy must pass {request}{nothing}")
    if status == HTTPStatus.NOT_FOUND:
        return TargetNotFound(text + nothing)
    if status in _TRY_AGAIN:
        return TargetNotWritten(text + nothing) if write else TargetUnavailable(text)
    if status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return TargetRefused(text + nothing) if nothing else TargetUnavailable(text)
    return TargetUnavailable(text + unknown)


def _message(answer: requests.Response) -> str:
    """Return the engine's message, or the beginning of another server's answer."""
    try:
        message = decoded(answer.content, dict[str, Any]).get("message")
    except Malformed:
        message = None
    if isinstance(message, str) and message:
        return plain(" ".join(message[:_SHOWN].split()), _SHOWN)
    return beginning(answer.content)
