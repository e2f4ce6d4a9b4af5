"""Answers are bounded in bytes, complete or an error, and leave no data behind."""

import gzip
import json
import traceback
import zlib
from email.message import Message
from types import SimpleNamespace
from urllib.request import Request

import pytest

from autoscaler.net.errors import HttpError, Interrupted, TooLarge
from autoscaler.net.session import Session
from tests.servers.scripted import Script, Wire, answering, scripted

MAX_BYTES = 2**20
"""The bound of the fixture's session."""


def raw(content: bytes) -> Script:
    def script(wire: Wire) -> None:
        wire.read()
        wire.send(content)

    return script


def failure(session: Session, script: Script) -> HttpError:
    with scripted(script) as server, pytest.raises(HttpError) as caught:
        session.get(server.url, timeout=10)
    return caught.value


def endless(begin: bytes, again: bytes) -> Script:
    """Return a script that answers with `begin`, then with `again` without end."""

    def script(wire: Wire) -> None:
        wire.read()
        wire.send(begin)
        wire.repeat(again, every_seconds=0)

    return script


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
ENDLESS_BODY = endless(OK + b"\r\n", b" " * 2**18)
GZIP = b"Content-Encoding: gzip\r\n"
BOMB = gzip.compress(b" " * 2**24, 1)


@pytest.mark.parametrize(
    "script",
    [
        ENDLESS_BODY,
        endless(CHUNKED, b"10000\r\n" + b" " * 2**16 + b"\r\n"),
        answering(b" " * (MAX_BYTES + 1)),
        answering(BOMB, GZIP),
        answering(BOMB, GZIP, "500 Internal Server Error"),
        endless(
            OK + GZIP + b"\r\n" + gzip.compress(b"", mtime=0)[:10], b"\0\0\0\xff\xff" * 10_000
        ),  # empty stored blocks
    ],
    ids=["endless", "endless chunks", "one byte more", "bomb", "error", "gzip of nothing"],
)
def test_an_answer_that_is_too_large_is_an_error(session: Session, script: Script) -> None:
    """The bound counts decompressed bytes: 16 KiB may become 16 MiB."""
    error = failure(session, script)
    assert type(error) is TooLarge
    assert str(error) == "answered with more than 1 MiB"


def test_a_bomb_in_a_bomb_is_not_unpacked(session: Session) -> None:
    """With `gzip, gzip`, a bound on one layer does not bound the other."""
    error = failure(session, answering(gzip.compress(BOMB), b"Content-Encoding: gzip, gzip\r\n"))
    assert str(error) == "its answer is encoded as 'gzip, gzip'; only gzip can be unpacked"


@pytest.mark.parametrize("packed", [False, True])
def test_an_answer_of_exactly_the_bound_is_read(session: Session, packed: bool) -> None:
    """The connection is kept."""
    body = b"x" * MAX_BYTES
    with scripted(answering(gzip.compress(body) if packed else body, GZIP if packed else b"")) as server:
        assert session.get(server.url, timeout=10).content == body
        assert session.get(server.url, timeout=10).content == body
        assert server.accepted == 1
        assert b"accept-encoding: gzip\r\n" in server.requests[0].lower()


def test_the_error_of_a_large_answer_keeps_none_of_it(session: Session) -> None:
    """Results and logs keep an error, and its traceback keeps the frames' data."""
    error: BaseException | None = failure(session, ENDLESS_BODY)
    held = 0
    while error is not None:
        for frame, _ in traceback.walk_tb(error.__traceback__):
            held += sum(len(value) for value in frame.f_locals.values() if isinstance(value, bytes | bytearray))
        error = error.__cause__ or error.__context__
    assert held <= 2**17


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "closed the connection without an answer"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}", "its answer was cut short"),
        (CHUNKED + b"10\r\n{}", "its answer was cut short"),
        (CHUNKED + b"xyz\r\n{}", "its answer"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "its answer is not HTTP (BadStatusLine)"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n", "its answer is not HTTP (HTTPException)"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 2**17 + b"\r\n\r\n", "its answer is not HTTP (LineTooLong)"),
        (OK + GZIP + b"\r\nno gzip at all", "its answer cannot be unpacked: it is not gzip"),
        (OK + GZIP + b"\r\n" + BOMB[:60], "its answer was cut short"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\nx",
            "its answer is encoded as 'br'; only gzip can be unpacked",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n" + zlib.compress(b" " * 2**24, 1),
            "its answer is encoded as 'deflate'; only gzip can be unpacked",
        ),
        (
            OK + GZIP + b"\r\n" + gzip.compress(b"", mtime=0) * 2,
            "its answer is packed in more than one part",
        ),
        (b"HTTP/1.1 200 OK\r\n" + b"X: %b\r\n" % (b"y" * 2**15) * 90, "its headers are larger than 1 MiB"),
        (b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "answered HTTP 103, an interim answer"),
    ],
)
def test_an_incomplete_answer_is_an_error(session: Session, content: bytes, said: str) -> None:
    """Half of a list would look like half of the load."""
    error = failure(session, raw(content))
    assert type(error) is Interrupted
    assert str(error).startswith(said)


def test_endless_interim_answers_are_an_error(session: Session) -> None:
    """Each is discarded, and the answer never comes: a core would be busy until the deadline."""
    error = failure(session, endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000))
    assert type(error) is Interrupted
    assert str(error) == "its headers are larger than 1 MiB"


def test_trailers_of_a_chunked_answer_are_ignored(session: Session) -> None:
    """They are part of HTTP, and the daemon reads none."""
    chunked = CHUNKED + b"2\r\n{}\r\n0\r\n" + b"X-T: 1\r\n" * 5000 + b"\r\n"
    with scripted(raw(chunked)) as server:
        assert session.get(server.url, timeout=10).text == "{}"


def test_a_proxys_message_is_cut_and_escaped(session: Session) -> None:
    """`Tunnel connection failed` quotes the reason of the proxy's status."""
    assert str(Interrupted("\x1b[2J" + "x" * 10**7)).startswith("\\x1b[2Jxxx")
    assert len(str(Interrupted("x" * 10**7))) < 1025


def test_a_reset_is_an_error(session: Session) -> None:
    """A firewall may send it."""

    def reset(wire: Wire) -> None:
        wire.read()
        wire.connection.setsockopt(1, 13, b"\x01\0\0\0\0\0\0\0")  # SO_LINGER of 0 s: close sends a reset

    error = failure(session, reset)
    assert type(error) is Interrupted
    assert str(error) == "Connection reset by peer"


@pytest.mark.parametrize("packed", [b"", zlib.compress(b"", wbits=31)])
def test_an_empty_body_is_an_answer(session: Session, packed: bytes) -> None:
    """The status is 204, or 200 with an empty body, which some servers mark as gzip."""
    with scripted(answering(packed, GZIP)) as server:
        assert session.get(server.url, timeout=10).content == b""


def test_a_status_is_the_callers_to_judge(session: Session) -> None:
    """Only the caller knows the meaning of a 404."""
    with scripted(answering(b'{"message": "gone"}', b"", "404 Not Found")) as server:
        reply = session.get(server.url, timeout=10)
    assert (reply.status_code, reply.json()) == (404, {"message": "gone"})


def test_cookies_are_neither_kept_nor_sent(session: Session) -> None:
    """A load balancer's cookie would send all cycles to one server."""
    with scripted(answering(b"{}", b"Set-Cookie: stick=here; Path=/\r\n")) as server:
        session.get(server.url, timeout=10)
        session.get(server.url, timeout=10)
    assert not any(b"cookie" in request.lower() for request in server.requests)
    assert not session.cookies


def test_the_jar_itself_refuses_cookies(session: Session) -> None:
    """A client library that is a session may store cookies; a server that keeps adding them answers 431 in the end."""
    url = "http://prometheus.example/"
    headers = Message()
    headers["Set-Cookie"] = "stick=here; Path=/"
    session.cookies.extract_cookies(SimpleNamespace(info=lambda: headers), Request(url))  # type: ignore[arg-type] # all that it uses
    assert not session.cookies


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
def test_redirects_are_not_followed(session: Session, status: str) -> None:
    """Credentials and writes would go to an address that is not configured."""
    with scripted(answering(b"{}")) as elsewhere:
        with scripted(answering(b"", b"Location: %b/\r\n" % elsewhere.url.encode(), status)) as server:
            reply = session.post(server.url, data=json.dumps({}), timeout=10)
        assert (reply.status_code, reply.is_redirect) == (int(status[:3]), True)
        assert (len(server.requests), elsewhere.accepted) == (1, 0)
