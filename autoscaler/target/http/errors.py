"""Why an exchange brought no answer: one small family, in words that follow the peer's name ("… did not answer").

The errors of requests and urllib3 quote the request, whose URL and headers may hold secrets, and wrap the cause several
times; here only the cause is left. Each user turns them into errors of its own.
"""

import http.client
import ssl
from typing import Final

from autoscaler.errors import AutoscalerError
from autoscaler.text import plain

_BEFORE_SENDING: Final = ("Could not find", "Tunnel connection failed")
"""How errors begin that requests and http.client raise for a certificate's file and a proxy that refuses."""


_REFUSALS: Final = ("CERTIFICATE", "UNKNOWN_CA", "ACCESS_DENIED")
"""What the names of such alerts have (https://www.rfc-editor.org/rfc/rfc8446#section-6.2)."""


class HttpError(AutoscalerError):
    """An exchange brought no answer. The connection is closed, and nothing of the answer is kept."""

    def __init__(self, message: str) -> None:
        """`message`: kept as one printable line, within bounds; a proxy's own words may be in it."""
        super().__init__(plain(message))


class Unreachable(HttpError):
    """There is no connection: nothing was sent."""


class TlsFailed(HttpError):
    """The two could not agree, mostly for a certificate that one does not accept: nothing was carried out."""


class Late(HttpError):
    """The deadline has passed. Whether a write was carried out is unknown."""


class Interrupted(HttpError):
    """The connection ended, or what came is not HTTP. Whether a write was carried out is unknown."""


class Malformed(HttpError):
    """The answer came whole, and is not what was expected. A write was probably carried out."""


class TooLarge(HttpError):
    """The answer has more bytes than are read. A write was probably carried out."""


def http_error(error: BaseException, seconds: float, handled: BaseException | None = None) -> HttpError:
    """What an exchange that had `seconds` failed of. Holds neither the request nor anything of the answer.

    `handled`: what was being handled when the exchange began; it is in the context of `error` and not its cause.
    """
    chain = _chain(error, handled)
    if any(isinstance(each, TimeoutError) for each in chain):
        return Late(f"did not answer within {seconds:.3g} s")
    cause = next((each for each in chain if isinstance(each, http.client.HTTPException)), chain[-1])
    match cause:
        case ssl.SSLError():
            return _tls_error(cause)
        case ValueError() if type(cause).__name__ == "CertificateError":  # urllib3's, too heavy to import here
            return TlsFailed("its certificate is not accepted: it is for another name")
        case http.client.HTTPException():
            return _broken_answer(cause)
        case FileNotFoundError():  # a certificate's file
            return Unreachable(words(cause))
        case OSError() if isinstance(cause, ValueError):  # requests does not take the URL or a header
            return Unreachable(f"the request is not valid ({type(cause).__name__})")
        case OSError() if str(cause).startswith(_BEFORE_SENDING):
            return Unreachable(str(cause))
    return Interrupted(words(cause))


def _tls_error(error: ssl.SSLError) -> HttpError:
    """Of the handshake, or of a peer that has refused us in place of an answer."""
    if _hung_up(error):
        return Interrupted(tls_words(error))
    if isinstance(error, ssl.SSLCertVerificationError):
        return TlsFailed(f"its certificate is not accepted: {error.verify_message}")
    as_without = ", as from a server without TLS" if error.reason == "WRONG_VERSION_NUMBER" else ""
    return TlsFailed(tls_words(error) + as_without)


def tls_words(error: ssl.SSLError) -> str:
    """What failed, in OpenSSL's words."""
    return (
        "closed the connection" if _hung_up(error) else f"TLS: {(error.reason or 'failed').replace('_', ' ').lower()}"
    )


def refuses_us(error: ssl.SSLError) -> bool:
    """Whether it is a peer's word that it does not accept our certificate, or none.

    With TLS 1.3 that comes when the request was sent already; the peer reads none of it.
    """
    return any(word in (error.reason or "") for word in _REFUSALS)


def _hung_up(error: ssl.SSLError) -> bool:
    """A peer that restarts; no certificate is wrong."""
    return isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError)


def _broken_answer(error: http.client.HTTPException) -> HttpError:
    match error:
        case http.client.RemoteDisconnected():
            return Interrupted("closed the connection without an answer")
        case http.client.IncompleteRead():
            return Interrupted("its answer was cut short")
    return Interrupted(f"its answer is not HTTP ({type(error).__name__})")


def _chain(error: BaseException, handled: BaseException | None) -> list[BaseException]:
    """`error` and what it came from, in turn. Libraries hand it on as cause, context, argument or `reason`."""
    chain = [error]
    while True:
        last = chain[-1]
        nested = (last.__cause__, last.__context__, getattr(last, "reason", None), *last.args)
        inner = next((each for each in nested if isinstance(each, BaseException) and each is not handled), None)
        if inner is None or inner in chain:
            return chain
        chain.append(inner)


def words(error: BaseException) -> str:
    """The system's own words for an error, without what was asked of it; else its type's name."""
    text = error.strerror if isinstance(error, OSError) else None
    return text or type(error).__name__
