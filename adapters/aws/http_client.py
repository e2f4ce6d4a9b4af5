"""botocore's HTTP client on bounded connections (`autoscaler.target.http`).

botocore's time-outs are fixed for a client's life and bound each wait for bytes, so a slow answer has no bound.
Requests reach this client by botocore's event `before-send`. botocore decompresses nothing, so a bound on the received
bytes is enough.
"""

from collections.abc import Mapping
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

from autoscaler.target.http import (
    Left,
    Malformed,
    Secrets,
    Unreachable,
    bounded,
    decoded,
    in_mib,
    of_headers,
    of_proxies,
)

MAX_ANSWER: Final = 32 * 2**20
"""Bytes. A page of a hundred groups with some hundred instances each has a quarter of them."""
_LARGE: Final = 2**20
"""Bytes. Only a list, which is XML, is larger."""
_BYTES_PER_BRACKET: Final = 40
"""The largest answer may have one opening bracket in this many bytes, as 35,000 instances have. A decoded element takes
a hundred bytes or more, so empty elements would take thirty times the answer's size."""
_MAX_EQUALS: Final = 2**19
"""AWS's answers have no attributes but a namespace; some texts and tags have an equals sign. Of 30 MB of attributes, a
parser makes a gigabyte."""
_CREDENTIALS: Final = ("Authorization", "X-Amz-Security-Token")
_ENOUGH_SECONDS: Final = 60
"""The library's own time-out. Cycles are shorter, so it never applies."""


class HttpClient:
    """Sends requests that botocore has prepared and signed."""

    def __init__(self, verify: str | bool, left: Left) -> None:
        """`verify`: botocore's CA bundle, or whether to verify. `left`: returns the seconds to the deadline."""
        self._verify = verify
        self._pools = _pools(left)
        self._sessions: dict[str, _Session] = {}

    def send(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        """Return the answer; a handler of `before-send`. Raises botocore's HTTPClientError."""
        origin = "/".join(request.url.split("/", 3)[:3])
        session = self._sessions.get(origin)
        if session is None:
            proxies = get_environ_proxies(request.url)
            made = _Session(self._pools, verify=self._verify, proxies=proxies, timeout=_ENOUGH_SECONDS)
            session = self._sessions.setdefault(origin, made)  # if two threads each made one, both use the first
        headers = (request.headers[name] for name in _CREDENTIALS if name in request.headers)
        secrets = Secrets((*of_headers(headers), *of_proxies(session.proxies)))
        try:
            answer = session.send(request)
            _hide(secrets, answer)
            _check(answer)
        except HTTPClientError as error:
            error.args = tuple([secrets.hidden(str(each)) for each in error.args])
            raise
        return answer

    def close(self) -> None:
        """Close idle connections."""
        for session in self._sessions.values():
            session.close()


def _hide(secrets: Secrets, answer: Any) -> None:
    """Replace the secrets of the request in its AWSResponse, whose stubs lack a field."""
    fine = answer.status_code < HTTPStatus.MULTIPLE_CHOICES
    answer._content = secrets.hidden_in(answer.content, data=fine)  # noqa: SLF001 - botocore keeps what it has read there
    for name, value in answer.headers.items():
        answer.headers[name] = secrets.hidden(value)


def _check(answer: AWSResponse) -> None:
    """Raise for an answer that may be a part, or that would take far more memory than AWS's answers once decoded."""
    content = answer.content
    try:
        if HTTPStatus.OK < answer.status_code < HTTPStatus.MULTIPLE_CHOICES:
            raise Malformed(f"answered HTTP {answer.status_code}, which may be a part; AWS answers 200")  # noqa: TRY301
        is_json = content[:1] in (b"{", b"[")
        if is_json:
            decoded(content, dict, MAX_ANSWER)
        elif content.count(b"<") > MAX_ANSWER // _BYTES_PER_BRACKET or content.count(b"=") > _MAX_EQUALS:
            raise Malformed("answered with more elements than an answer of its size should have")  # noqa: TRY301
        if len(content) > _LARGE and (answer.status_code != HTTPStatus.OK or not (is_json or _is_xml(content))):
            raise Malformed(f"answered HTTP {answer.status_code} with {in_mib(len(content))} that are not a list")  # noqa: TRY301
    except Malformed as error:
        raise HTTPClientError(error=error) from None


def _is_xml(content: bytes) -> bool:
    """Return whether the answer is XML. botocore quotes other answers in an error, four bytes for each."""
    try:
        expat.ParserCreate("utf-8").Parse(content, True)
    except expat.ExpatError:
        return False
    return True


class _Session(URLLib3Session):
    def __init__(self, pools: dict[str, Any], **options: Any) -> None:
        super().__init__(**options)
        self.proxies: Final[Mapping[str, str]] = options["proxies"]
        self._pool_classes_by_scheme = pools
        self._manager.pool_classes_by_scheme = pools  # type: ignore[attr-defined] # the stubs know no fields


def _pools(left: Left) -> dict[str, Any]:
    """Return connection pools whose connections know the deadline."""

    class PlainPool(AWSHTTPConnectionPool):
        ConnectionCls = _bounded(AWSHTTPConnection, left)

    class EncryptedPool(AWSHTTPSConnectionPool):
        ConnectionCls = _bounded(AWSHTTPSConnection, left)

    return {"http": PlainPool, "https": EncryptedPool}


def _bounded(base: Any, left: Left) -> Any:
    """Return a bounded connection that raises botocore's own error when it cannot connect."""
    connection: Any = bounded(base, left, largest=MAX_ANSWER)

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
