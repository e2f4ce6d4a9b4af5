"""The errors of a failed exchange, with messages that follow the peer's name ("… did not answer").

The errors of requests and urllib3 quote the request, whose URL and headers may hold secrets, and wrap the cause several
times; these errors hold only the cause. Each caller turns them into its own errors.
"""

import http.client
import ssl
from typing import Final

from autoscaler.errors import AutoscalerError
from autoscaler.text import plain

_BEFORE_SENDING: Final = ("Could not find", "Tunnel connection failed")
"""Beginnings of the errors of requests and http.client for a missing certificate file and a refusing proxy."""


_REFUSALS: Final = ("CERTIFICATE", "UNKNOWN_CA", "ACCESS_DENIED")
"""Parts of the names of these alerts (https://www.rfc-editor.org/rfc/rfc8446#section-6.2)."""


class HttpError(AutoscalerError):
    """An exchange failed. Its connection is closed, and its answer dropped."""

    def __init__(self, message: str) -> None:
        """`message`: kept as one short printable line; it may contain a proxy's text."""
        super().__init__(plain(message))


class Unreachable(HttpError):
    """The connection failed: nothing was sent."""


class TlsFailed(HttpError):
    """The TLS handshake failed, usually because of a certificate: the request was not performed."""


class WithoutTls(TlsFailed):
    """The server does not speak TLS: write http:// instead of https://."""


class Late(HttpError):
    """The deadline has passed. The outcome of a write is unknown."""


class Interrupted(HttpError):
    """The connection ended, or the answer is not HTTP. The outcome of a write is unknown."""


class HungUp(Interrupted):
    """The peer ended an encrypted connection without TLS's own words, as a restart does."""


class Dropped(Interrupted):
    """The peer closed a connection that was kept from an earlier exchange before it answered anything.

    It may have closed it before the request arrived, as servers and load balancers do with idle connections.
    """


class Malformed(HttpError):
    """The complete answer has an unexpected form. A write was probably performed."""


class TooLarge(HttpError):
    """The answer has too many bytes. A write was probably performed."""


def http_error(error: BaseException, seconds: float, handled: BaseException | None = None) -> HttpError:
    """Return the HttpError for a failed exchange that had `seconds`. It holds neither the request nor the answer.

    `handled`: the exception being handled when the exchange began, which is in the context of `error` and not its
    cause.
    """
    chain = _chain(error, handled)
    if any(isinstance(each, TimeoutError) for each in chain):
        # What is left of a cycle differs by milliseconds: the same failure has the same words, and is one event.
        return Late(f"did not answer within {round(seconds, 1) or seconds:.3g} s")
    cause = next((each for each in chain if isinstance(each, http.client.HTTPException)), chain[-1])
    match cause:
        case ssl.SSLError():
            return _tls_error(cause)
        case ValueError() if type(cause).__name__ == "CertificateError":  # urllib3 has one too; its import is slow
            return TlsFailed("its certificate is not accepted: it is for another name")
        case http.client.HTTPException():
            return _broken_answer(cause)
        case FileNotFoundError():  # a certificate file
            return Unreachable(words(cause))
        case OSError() if isinstance(cause, ValueError):  # requests rejects the URL or a header
            return Unreachable(f"the request is not valid ({type(cause).__name__})")
        case OSError() if str(cause).startswith(_BEFORE_SENDING):
            return Unreachable(str(cause))
    return Interrupted(words(cause))


def _tls_error(error: ssl.SSLError) -> HttpError:
    """Return the error of a handshake, or of a peer that refuses our certificate."""
    if hung_up(error):
        return Interrupted(tls_words(error))
    if isinstance(error, ssl.SSLCertVerificationError):
        return TlsFailed(f"its certificate is not accepted: {error.verify_message}")
    if error.reason == "WRONG_VERSION_NUMBER":
        return WithoutTls(f"{tls_words(error)}, as from a server without TLS")
    return TlsFailed(tls_words(error))


def tls_words(error: ssl.SSLError) -> str:
    """Return OpenSSL's message."""
    return "closed the connection" if hung_up(error) else f"TLS: {(error.reason or 'failed').replace('_', ' ').lower()}"


def refuses_us(error: ssl.SSLError) -> bool:
    """Return whether the peer's alert says that it does not accept our certificate, or requires one.

    With TLS 1.3 the alert arrives after the request was sent; the peer has not read it.
    """
    return any(word in (error.reason or "") for word in _REFUSALS)


def hung_up(error: ssl.SSLError) -> bool:
    """Return whether the peer closed the connection, as a restart does; no certificate is wrong."""
    return isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError)


def _broken_answer(error: http.client.HTTPException) -> HttpError:
    match error:
        case http.client.RemoteDisconnected():
            return Interrupted("closed the connection without an answer")
        case http.client.IncompleteRead():
            return Interrupted("its answer was cut short")
    return Interrupted(f"its answer is not HTTP ({type(error).__name__})")


def _chain(error: BaseException, handled: BaseException | None) -> list[BaseException]:
    """Yield `error` and its causes. Libraries link them by cause, context, argument or `reason`."""
    chain = [error]
    while True:
        last = chain[-1]
        nested = (last.__cause__, last.__context__, getattr(last, "reason", None), *last.args)
        inner = next((each for each in nested if isinstance(each, BaseException) and each is not handled), None)
        if inner is None or inner in chain:
            return chain
        chain.append(inner)


def words(error: BaseException) -> str:
    """Return the system's message for an error, without its arguments; else its type's name."""
    text = error.strerror if isinstance(error, OSError) else None
    return text or type(error).__name__
