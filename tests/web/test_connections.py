"""Clients that are slow on purpose, too many, or not what they seem, against a real server whose clock is set."""

import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
import requests
from prometheus_client import Gauge

from autoscaler.model import Decision
from autoscaler.web import connections, server
from autoscaler.web.addresses import client_of
from tests.servers.certificates import Authority
from tests.web.clients import (
    GET,
    LARGE,
    PATIENCE_SECONDS,
    answer,
    client,
    everything,
    is_open,
    look,
    seen,
    send_for_ever,
    wait_until,
)
from tests.web.serving import Daemon, Served, serving
from tests.web.test_certificates import tls

pytestmark = pytest.mark.slow  # each waits for the server to look, twice a second


@pytest.fixture
def small(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A server of 32 connections, to which 127.0.0.1 is this machine and 127.0.0.2 to 127.0.0.9 are others."""
    monkeypatch.setattr(server, "most_connections", lambda: 32)
    monkeypatch.setattr(connections, "is_loopback", lambda host: host == "127.0.0.1")
    with serving(daemon) as served:
        yield served


@pytest.mark.parametrize(
    ("sent", "seconds"),
    [
        (b"", 5),
        (b"GET / HT", 5),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX-", 5),
        (b"POST /-/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n1", 10),
    ],
    ids=["nothing", "a line", "headers", "a body"],
)
def test_who_does_not_go_on_is_thrown_out(daemon: Daemon, sent: bytes, seconds: float) -> None:
    """A client that sends a byte now and then held its place, and a descriptor of ours, for ever."""
    with serving(daemon) as served, client(served) as slow:
        slow.sendall(sent)
        seen(served)
        daemon.clock.seconds += seconds - 0.1
        assert served.get("/-/healthy").status_code == 200
        assert is_open(slow)
        daemon.clock.seconds += 0.2
        assert everything(slow).count(b"HTTP/1.1 200") == 0


def test_trickling_does_not_extend_it(daemon: Daemon) -> None:
    """The deadline is of all headers, not from byte to byte."""
    with serving(daemon) as served, client(served) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\n")
        seen(served)
        for _ in range(2):
            daemon.clock.seconds += 2.4
            slow.sendall(b"X-Slow: 1\r\n")
            assert served.get("/-/healthy").status_code == 200
        assert is_open(slow)
        daemon.clock.seconds += 0.4
        assert everything(slow) == b""


def test_a_tls_handshake_has_a_deadline(daemon: Daemon, tmp_path: Path) -> None:
    """Asyncio's own is a minute, and its connection counts for nobody meanwhile."""
    (tmp_path / "web.yaml").write_text(tls(Authority(tmp_path)))
    with serving(daemon, tmp_path / "web.yaml") as served, client(served) as slow:
        slow.sendall(b"\x16\x03\x01")
        seen(served)
        daemon.clock.seconds += 5.1
        assert everything(slow) == b""


def test_who_waits_for_us_is_answered_however_long_it_takes(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large state on a slow disk is not the client's fault."""
    go_on = threading.Event()
    monkeypatch.setattr(daemon, "_reload", lambda: (go_on.wait(PATIENCE_SECONDS), ())[1])
    with serving(daemon) as served, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as waiting:
        waiting.settimeout(PATIENCE_SECONDS)
        waiting.connect(str(served.control_socket))
        waiting.sendall(b"POST /-/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
        seen(served, control=True)
        daemon.clock.seconds += 3600
        assert served.get("/-/healthy").status_code == 200
        assert is_open(waiting)
        go_on.set()
        assert waiting.recv(4096).startswith(b"HTTP/1.1 200")


def large_metrics(daemon: Daemon, mebibytes: int) -> None:
    gauge = Gauge("autoscaler_large", "Of a test.", ["name"], registry=daemon.registry)
    for number in range(mebibytes * 1024):
        gauge.labels(f"{number}-" + "x" * 990).set(1)


def test_who_does_not_take_its_answer_is_thrown_out(daemon: Daemon) -> None:
    """512 that ask for /metrics and do not read would keep it 512 times in memory."""
    with serving(daemon) as served, client(served, receive_bytes=4096) as slow:
        large_metrics(daemon, 2)
        slow.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert slow.recv(10, socket.MSG_PEEK) == b"HTTP/1.1 2"
        seen(served)
        daemon.clock.seconds += 10.1
        wait_until(lambda: not served.server._server._connections[0]._open)
        assert len(everything(slow)) < 2**20


def test_a_slow_line_gets_the_whole_answer(daemon: Daemon) -> None:
    """64 KiB in ten seconds are enough."""
    with serving(daemon) as served, client(served, receive_bytes=4096) as slow:
        large_metrics(daemon, 1)
        slow.sendall(LARGE)
        found = b""
        for number in range(4):
            seen(served)
            while len(found) < (number + 1) * 128 * 1024:
                found += slow.recv(2048)
            daemon.clock.seconds += 9
            look(served)
        assert len(found + everything(slow)) > 2**20


def test_answers_that_are_not_taken_are_bounded_together(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within their ten seconds, many could ask for a lot: the one that has waited for longest goes."""
    monkeypatch.setattr(connections, "_MOST_UNSENT_BYTES", 3 * 2**20)
    with (
        serving(daemon) as served,
        client(served, receive_bytes=4096) as first,
        client(served, receive_bytes=4096) as second,
    ):
        large_metrics(daemon, 2)
        for each in (first, second):
            each.sendall(LARGE)
            assert each.recv(10, socket.MSG_PEEK) == b"HTTP/1.1 2"
            seen(served)
        assert len(everything(second)) > 2 * 2**20
        assert len(everything(first)) < 2**20
        assert served.log.named("connection_flood_began")[0]["cause"] == "answers that are not taken"


def test_whoever_has_just_asked_is_not_taken_for_the_slowest(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has looked at it yet, and nobody need: those that hoard answers must not throw out who reads its own."""
    monkeypatch.setattr(connections, "_MOST_UNSENT_BYTES", 3 * 2**20)
    with (
        serving(daemon) as served,
        client(served, receive_bytes=4096) as newcomer,
        client(served, receive_bytes=4096) as hoarder,
    ):
        large_metrics(daemon, 2)
        seen(served, 2)  # from before it asks, which says nothing of its answer
        hoarder.sendall(LARGE)
        wait_until(lambda: any(each.unsent for each in [*served.server._server._connections[0]._open]))
        look(served)
        daemon.clock.seconds += 1
        newcomer.sendall(LARGE)
        assert len(everything(newcomer)) > 2 * 2**20
        assert len(everything(hoarder)) < 2**20


def test_with_tls_answers_are_counted_that_wait_encrypted(daemon: Daemon, tmp_path: Path) -> None:
    """Asyncio encrypts an answer at once, and counts it no more: it would end at the deadline for the next request."""
    authority = Authority(tmp_path)
    (tmp_path / "web.yaml").write_text(tls(authority))
    context = ssl.create_default_context(cafile=str(authority.ca))
    with (
        serving(daemon, tmp_path / "web.yaml") as served,
        client(served, receive_bytes=4096) as opened,
        context.wrap_socket(opened, server_hostname="localhost") as slow,
    ):
        large_metrics(daemon, 2)
        slow.sendall(LARGE)
        found = slow.recv(10)
        assert found == b"HTTP/1.1 2"
        for number in range(4):
            seen(served)
            while len(found) < (number + 1) * 128 * 1024:
                found += slow.recv(2048)
            daemon.clock.seconds += 9
            look(served)
        assert len(found + everything(slow)) > 2 * 2**20


def test_with_tls_answers_that_are_not_taken_are_bounded_together(
    daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_MOST_UNSENT_BYTES", 3 * 2**20)
    authority = Authority(tmp_path)
    (tmp_path / "web.yaml").write_text(tls(authority))
    context = ssl.create_default_context(cafile=str(authority.ca))
    with ExitStack() as opened:
        served = opened.enter_context(serving(daemon, tmp_path / "web.yaml"))
        large_metrics(daemon, 2)
        for _ in range(2):
            plain = opened.enter_context(client(served, receive_bytes=4096))
            slow = opened.enter_context(context.wrap_socket(plain, server_hostname="localhost"))
            slow.sendall(LARGE)
            assert slow.recv(10) == b"HTTP/1.1 2"
        wait_until(lambda: bool(served.log.named("connection_flood_began")))
        assert served.log.named("connection_flood_began")[0]["cause"] == "answers that are not taken"
        wait_until(lambda: len(served.server._server._connections[0]._open) == 1)


def test_the_newcomer_is_answered_and_who_does_nothing_gives_way(small: Served) -> None:
    """1,100 idle connections must not keep the operator's command line out."""
    with ExitStack() as stack:
        idle = [stack.enter_context(client(small)) for _ in range(100)]
        assert requests.get(f"{small.server.url}/-/healthy", timeout=PATIENCE_SECONDS).status_code == 200
        wait_until(lambda: sum(is_open(each) for each in idle) <= 32)
        assert [line["event"] for line in small.log.lines] == ["listening", "connection_flood_began"]
        small.daemon.clock.seconds += 10.1
        wait_until(lambda: bool(small.log.named("connection_flood_ended")))
    (ended,) = small.log.named("connection_flood_ended")
    assert ended["refused"] >= 68


UNFINISHED = b"POST /-/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n1"
"""It waits for its body: such a connection gives way to nobody before its deadline."""


def test_one_address_cannot_take_all_places(small: Served) -> None:
    """Half of them: others are still answered."""
    with ExitStack() as stack:
        for _ in range(16):
            stack.enter_context(client(small, "127.0.0.2")).sendall(UNFINISHED)
        seen(small, 16)
        with client(small, "127.0.0.2") as refused:
            assert answer(refused) == b""
        with client(small, "127.0.0.3") as other:
            assert answer(other).startswith(b"HTTP/1.1 200")


def test_some_places_are_kept_for_this_machine(small: Served) -> None:
    """However many other machines flood it, the operator is answered."""
    with ExitStack() as stack:
        for host in range(2, 5):
            for _ in range(10):
                stack.enter_context(client(small, f"127.0.0.{host}")).sendall(UNFINISHED)
        seen(small, 30)
        with client(small, "127.0.0.5") as refused:
            assert answer(refused) == b""
        assert small.get("/-/healthy").status_code == 200


def test_a_whole_ipv6_network_is_one_client() -> None:
    """Whoever has one address of a /64 has them all."""
    assert client_of("2001:db8::1") == client_of("2001:db8::2:3") == "2001:db8::/64"
    assert client_of("2001:db8:0:1::1") != client_of("2001:db8::1")
    assert client_of("::ffff:192.0.2.1") == "192.0.2.1"
    assert (client_of("::1"), client_of("192.0.2.7")) == ("::1", "192.0.2.7")


@pytest.mark.parametrize(
    "headers",
    [
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: 5, 6",
    ],
)
def test_a_request_whose_end_is_ambiguous_ends_its_connection(daemon: Daemon, headers: str) -> None:
    """Smuggling: a proxy before us may see another end, and give the rest to somebody else's request."""
    with serving(daemon) as served, client(served) as smuggler:
        smuggler.sendall(f"POST /-/reload HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n\r\n0\r\n\r\n".encode() + GET)
        found = everything(smuggler)
    assert found.startswith(b"HTTP/1.1 400 ")
    assert found.count(b"HTTP/1.1") == 1
    assert daemon.reloads == 0


def test_a_client_that_is_gone_is_not_worked_for(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits for its turn behind two that take long, and leaves."""
    go_on, asked = threading.Event(), list[int]()
    latest = daemon.state.archive.latest

    def slow() -> Mapping[str, Decision]:
        asked.append(1)
        go_on.wait(PATIENCE_SECONDS)
        return latest()

    monkeypatch.setattr(daemon.state.archive, "latest", slow)
    request = b"GET /api/v1/autoscalers HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with serving(daemon) as served, client(served) as first, client(served) as second:
        for each in (first, second):
            each.sendall(request)
        wait_until(lambda: len(asked) == 2)
        with client(served) as gone:
            gone.sendall(request)
            wait_until(lambda: daemon.work._waiting() == 1)
        wait_until(lambda: daemon.work._waiting() == 0)
        go_on.set()
        assert first.recv(4096).startswith(b"HTTP/1.1 200")
        assert second.recv(4096).startswith(b"HTTP/1.1 200")
    assert len(asked) == 2


def test_requests_sent_ahead_are_bounded(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pipelining: what is not answered yet is kept in memory, and a client may send it as fast as it can."""
    go_on = threading.Event()
    monkeypatch.setattr(daemon, "_reload", lambda: (go_on.wait(PATIENCE_SECONDS), ())[1])
    with serving(daemon) as served, client(served) as hasty:
        hasty.sendall(b"POST /-/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
        hasty.settimeout(1)
        with pytest.raises(
            (ConnectionError, TimeoutError)
        ):  # thrown out, or not read any more: as the first bytes come
            send_for_ever(hasty, GET * 100)
        go_on.set()


def test_a_few_requests_sent_ahead_are_answered(daemon: Daemon) -> None:
    with serving(daemon) as served, client(served) as hasty:
        hasty.sendall(GET * 20 + b"GET /-/healthy HTTP/1.0\r\n\r\n")
        assert everything(hasty).count(b"HTTP/1.1 200") == 21


def test_a_body_that_nobody_reads_is_not_read_for_ever(daemon: Daemon) -> None:
    with serving(daemon) as served, client(served) as endless:
        endless.sendall(b"GET /-/healthy HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n")
        assert endless.recv(4096).startswith(b"HTTP/1.1 200")
        with pytest.raises(ConnectionError):
            send_for_ever(endless, b"x" * 65536)


def test_who_speaks_no_tls_is_nobodys_error(daemon: Daemon, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A scanner must not fill the log."""
    (tmp_path / "web.yaml").write_text(tls(Authority(tmp_path)))
    with serving(daemon, tmp_path / "web.yaml") as served:
        with client(served) as plain:
            plain.sendall(GET)
            assert b"HTTP" not in everything(plain)
        with client(served) as gone, pytest.raises(ssl.SSLError):
            ssl.create_default_context().wrap_socket(gone, server_hostname="localhost")
        assert served.get("/-/healthy", verify=str(tmp_path / "ca.pem")).status_code == 200
    assert caplog.records == []
