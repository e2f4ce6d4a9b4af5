"""botocore's HTTP client on bounded connections (`autoscaler.target.http`).

botocore's time-outs are fixed for a client's life and bound each wait for bytes: what trickles is waited for as long
as it likes. Requests reach this client by botocore's event `before-send`. What is bounded is what comes over the wire:
botocore unpacks nothing.
"""

from http import HTTPStatus
from socket import socket
from typing import Any, Final
from xml.parsers import expat

from botocore.awsrequest import (
    AWSHTTPConnection,
    AWSHTTPConnectionPool,
    AWSHTTPSConnection,
    AWSHTTPSConnectionPool,
    AWSPreparedRequest,
    AWSResponse,
)
from botocore.exceptions import HTTPClientError
from botocore.httpsession import URLLib3Session
from botocore.utils import get_environ_proxies
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError

from autoscaler.target.http import Malformed, Unreachable, in_mib
from autoscaler.target.http.connection import Left, bounded

LARGEST_ANSWER: Final = 32 * 2**20
"""Bytes: a page of a hundred groups with some hundred instances each takes a quarter of it."""
_LARGE: Final = 2**20
"""Bytes that only a list has, which is XML."""
_BYTES_A_BRACKET: Final = 40
"""An answer of the largest size may have one opening bracket in so many bytes: those of 35,000 instances. Decoded, an
element takes a hundred bytes and more, so empty ones would take thirty times the answer's size."""
_MOST_EQUALS: Final = 2**19
"""AWS's answers have no attributes but a namespace; some texts and tags have an equals sign."""
_ENOUGH_SECONDS: Final = 60
"""The library's own time-out, never reached: cycles are shorter."""


class HttpClient:
    """Sends what botocore has prepared and signed."""

    def __init__(self, verify: str | bool, left: Left) -> None:
        """`verify`: botocore's: a CA bundle, or whether to verify. `left`: seconds to the deadline, now."""
        self._verify = verify
        self._pools = _pools(left)
        self._sessions: dict[str, _Session] = {}

    def send(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        """The answer; a handler of `before-send`. Raises botocore's HTTPClientError."""
        origin = "/".join(request.url.split("/", 3)[:3])
        session = self._sessions.get(origin)
        if session is None:
            proxies = get_environ_proxies(request.url)
            made = _Session(self._pools, verify=self._verify, proxies=proxies, timeout=_ENOUGH_SECONDS)
            session = self._sessions.setdefault(origin, made)  # of two threads that made one, both use the first
        answer = session.send(request)
        _check(answer)
        return answer

    def close(self) -> None:
        """Close idle connections."""
        for session in self._sessions.values():
            session.close()


def _check(answer: AWSResponse) -> None:
    """Raise for what would take far more memory than AWS's answers do: decoded, or quoted in botocore's own errors."""
    content, problem = answer.content, None
    if content.count(b"<") > LARGEST_ANSWER // _BYTES_A_BRACKET or content.count(b"=") > _MOST_EQUALS:
        problem = "answered with more elements than an answer of its size should have"
    elif b"<!ENTITY" in content:
        problem = "answered with XML that defines entities"
    elif len(content) > _LARGE and (answer.status_code != HTTPStatus.OK or not _is_xml(content)):
        problem = f"answered HTTP {answer.status_code} with {in_mib(len(content))} that are not a list"
    if problem is not None:
        raise HTTPClientError(error=Malformed(problem))


def _is_xml(content: bytes) -> bool:
    """Whether botocore will not quote all of it in an error, four bytes for each."""
    try:
        expat.ParserCreate("utf-8").Parse(content, True)
    except expat.ExpatError:
        return False
    return True


class _Session(URLLib3Session):
    def __init__(self, pools: dict[str, Any], **options: Any) -> None:
        super().__init__(**options)
        self._pool_classes_by_scheme = pools
        self._manager.pool_classes_by_scheme = pools  # type: ignore[attr-defined] # the stubs know no fields


def _pools(left: Left) -> dict[str, Any]:
    """Connection pools whose connections know the deadline."""

    class PlainPool(AWSHTTPConnectionPool):
        ConnectionCls = _bounded(AWSHTTPConnection, left)

    class EncryptedPool(AWSHTTPSConnectionPool):
        ConnectionCls = _bounded(AWSHTTPSConnection, left)

    return {"http": PlainPool, "https": EncryptedPool}


def _bounded(base: Any, left: Left) -> Any:
    """The room's connection, which says of a connection that did not come about what botocore understands."""
    connection: Any = bounded(base, left, largest=LARGEST_ANSWER)

    class Bounded(connection):  # type: ignore[misc] # the class is made at run time
        def _new_conn(self) -> socket:
            try:
                made: socket = super()._new_conn()
            except TimeoutError:
                raise ConnectTimeoutError(self, "the deadline has passed") from None
            except Unreachable as error:
                raise NewConnectionError(self, str(error)) from None
            return made

    return Bounded
