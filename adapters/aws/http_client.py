"""botocore's requests on the daemon's own session, which has a deadline (`autoscaler.target.http`).

botocore's time-outs are fixed for a client's life and bound each wait for bytes, so a slow answer has no bound.
Requests reach this client by botocore's event `before-send`.
"""

from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from xml.parsers import expat

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from requests import PreparedRequest, Response

from autoscaler.target.http import Left, Malformed, Session, Tls, decoded, in_mib

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
_CONNECT_SHARE: Final = 0.9
"""Of a request's time: a write that cannot connect is known to be unsent, and one without an answer is not."""


class HttpClient:
    """Sends requests that botocore has prepared and signed, for any number of threads."""

    def __init__(self, bundle: str | None, left: Left) -> None:
        """`bundle`: botocore's CA bundle; None: the system's. `left`: returns the seconds to the deadline."""
        self._tls = Tls(None if bundle is None else Path(bundle))
        self._left = left
        self._idle: list[Session] = []
        """Each serves one thread at a time."""

    def send(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        """Return the answer; a handler of `before-send`. Raises HttpError."""
        try:
            session = self._idle.pop()
        except IndexError:
            session = self._open()
        try:
            answer = session.request(
                str(request.method),
                request.url,
                data=request.body,
                headers={name: value for name, value in request.headers.items() if name not in _CREDENTIALS},
                auth=partial(_sign, request),
                timeout=self._left(),
            )
        finally:
            self._idle.append(session)
        _check(answer)
        made = AWSResponse(request.url, answer.status_code, dict(answer.headers), answer.raw)  # type: ignore[arg-type]  # it takes any mapping
        made._content = answer.content  # type: ignore[attr-defined]  # noqa: SLF001 - botocore keeps there what it has read
        return made

    def _open(self) -> Session:
        return Session(
            self._tls,
            largest=MAX_ANSWER,
            environment=True,
            compressed=False,
            connect_share=lambda: _CONNECT_SHARE,
        )

    def close(self) -> None:
        """Close idle connections."""
        for session in self._idle:
            session.close()


def _sign(signed: AWSPreparedRequest, request: PreparedRequest) -> PreparedRequest:
    """Add the credentials, so that the session hides them wherever a text repeats them."""
    request.headers.update({name: signed.headers[name] for name in _CREDENTIALS if name in signed.headers})
    return request


def _check(answer: Response) -> None:
    """Raise for an answer that may be a part, or that would take far more memory than AWS's answers once decoded."""
    content = answer.content
    if HTTPStatus.OK < answer.status_code < HTTPStatus.MULTIPLE_CHOICES:
        raise Malformed(f"answered HTTP {answer.status_code}, which may be a part; AWS answers 200")
    is_json = content[:1] in (b"{", b"[")
    if is_json:
        decoded(content, dict, MAX_ANSWER)
    elif content.count(b"<") > MAX_ANSWER // _BYTES_PER_BRACKET or content.count(b"=") > _MAX_EQUALS:
        raise Malformed("answered with more elements than an answer of its size should have")
    if len(content) > _LARGE and (answer.status_code != HTTPStatus.OK or not (is_json or _is_xml(content))):
        raise Malformed(f"answered HTTP {answer.status_code} with {in_mib(len(content))} that are not a list")


def _is_xml(content: bytes) -> bool:
    """Return whether the answer is XML. botocore quotes other answers in an error, four bytes for each."""
    try:
        expat.ParserCreate("utf-8").Parse(content, True)
    except expat.ExpatError:
        return False
    return True
