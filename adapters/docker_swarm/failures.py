"""What a failed exchange with an engine means to the caller."""

import ssl
from collections.abc import Iterator
from http import HTTPStatus
from typing import Final

import requests

from autoscaler.target import TargetError, TargetForbidden, TargetNotFound, TargetRefused, TargetUnavailable

_UNKNOWN: Final = "; whether the size was set is not known, the next cycle will see it"
_NOTHING: Final = "; nothing was changed"
_HUNG_UP: Final = (ssl.SSLEOFError, ssl.SSLZeroReturnError)
"""The connection's end in TLS's words: an engine that restarts, not a certificate that is wrong."""
_TRY_AGAIN: Final = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)


def failure(where: str, error: requests.RequestException, said: str, *, expired: bool, write: bool) -> TargetError:
    """The TargetError for a failed exchange. `where` begins its message; `said` is what the ssh client said."""
    unknown, nothing = (_UNKNOWN, _NOTHING) if write else ("", "")
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return _answered(where, error.response, unknown, nothing)
    if expired or isinstance(error, requests.Timeout):
        return TargetUnavailable(f"{where}: no answer within the cycle's deadline{unknown}")
    if isinstance(error, requests.exceptions.JSONDecodeError):
        return TargetUnavailable(f"{where}: the answer is not JSON; is there a Docker engine behind `host`?")
    tls = next((cause for cause in _causes(error) if isinstance(cause, ssl.SSLError)), None)
    if tls is not None and not isinstance(tls, _HUNG_UP):
        reason = getattr(tls, "verify_message", "") or tls.reason or str(tls)
        return TargetForbidden(f"{where}: TLS failed: {reason}; check caFile, certFile and keyFile{nothing}")
    reason = said or _innermost(error)
    return TargetUnavailable(f"{where}: {reason}{unknown}")


def _answered(where: str, answer: requests.Response, unknown: str, nothing: str) -> TargetError:
    status = answer.status_code
    text = f"{where}: HTTP {status}: {_message(answer)}"
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return TargetForbidden(f"{text}; give the daemon access to this engine{nothing}")
    if status == HTTPStatus.NOT_FOUND:
        return TargetNotFound(text + nothing)
    if status in _TRY_AGAIN:
        return TargetUnavailable(text + nothing)
    if status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return TargetRefused(text + nothing) if nothing else TargetUnavailable(text)
    return TargetUnavailable(text + unknown)


def _message(answer: requests.Response) -> str:
    """The engine's sentence, or the beginning of whatever else answered."""
    try:
        body = answer.json()
    except ValueError:
        body = None
    said = body.get("message") if isinstance(body, dict) else None
    return " ".join(str(said or answer.text).split())[:300]


def _causes(error: BaseException) -> Iterator[BaseException]:
    """`error`, and what it came from, outermost first; requests and urllib3 keep causes in three places."""
    seen: list[BaseException] = [error]
    for one in seen:
        yield one
        inner = (one.__cause__, one.__context__, getattr(one, "reason", None), *one.args)
        seen += [cause for cause in inner if isinstance(cause, BaseException) and cause not in seen]


def _innermost(error: BaseException) -> str:
    *_, last = _causes(error)
    return str(last) or type(last).__name__
