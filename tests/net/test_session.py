"""The peers of a session, the credentials that it sends, and its error messages."""

import os
import socket
import ssl
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from autoscaler.net.errors import Dropped, HttpError, Interrupted, Late, TlsFailed, Unreachable, WithoutTls
from autoscaler.net.limits import Tls
from autoscaler.net.session import Session
from tests.servers.certificates import Authority
from tests.servers.ports import free_port
from tests.servers.scripted import Ahead, Script, Scripted, Wire, scripted

NAME = "server.global.nomad"


def fine(wire: Wire) -> None:
    while True:
        wire.read()
        wire.answer(b"{}")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


def context(authority: Authority, name: str, *, ask: bool = False) -> ssl.SSLContext:
    """Return a server's context with a certificate for `name`; `ask`: it requires a client certificate."""
    pair = authority.sign(f"server-{name}", name)
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(pair.cert, pair.key)
    if ask:
        made.load_verify_locations(authority.ca)
        made.verify_mode = ssl.CERT_REQUIRED
    return made


def ask(server: Scripted, tls: Tls, *, environment: bool = False) -> str:
    with Session(tls, environment=environment) as session:
        return session.get(server.url.replace("http:", "https:"), timeout=10).text


def refusal(server: Scripted, tls: Tls) -> HttpError:
    with pytest.raises(HttpError) as caught:
        ask(server, tls)
    return caught.value


class TestTls:
    """Certificates of both sides."""

    def test_own_authority_client_certificate_and_server_name(self, authority: Authority) -> None:
        """They work together; the address is not in the certificate."""
        ours = authority.sign("ours", "ours")
        with scripted(fine, context(authority, NAME, ask=True)) as server:
            assert ask(server, Tls(authority.ca, ours.cert, ours.key, NAME)) == "{}"

    def test_one_file_may_hold_certificate_and_key(self, authority: Authority, tmp_path: Path) -> None:
        """Many tools write one file."""
        ours, both = authority.sign("both", "both"), tmp_path / "both.pem"
        both.write_bytes(ours.cert.read_bytes() + ours.key.read_bytes())
        with scripted(fine, context(authority, NAME, ask=True)) as server:
            assert ask(server, Tls(authority.ca, both, server_name=NAME)) == "{}"

    @pytest.mark.parametrize("name", [None, "other.example"])
    def test_a_certificate_for_another_name_is_refused(self, authority: Authority, name: str | None) -> None:
        """It may be another server's."""
        with scripted(fine, context(authority, NAME)) as server:
            error = refusal(server, Tls(authority.ca, server_name=name))
        assert type(error) is TlsFailed
        assert "its certificate is not accepted: " in str(error)

    def test_another_authority_is_refused(self, authority: Authority, tmp_path: Path) -> None:
        """It may be another server."""
        with scripted(fine, context(authority, NAME)) as server:
            error = refusal(server, Tls(Authority(tmp_path).ca, server_name=NAME))
        assert type(error) is TlsFailed

    def test_a_server_that_wants_a_certificate_refuses_without_one(self, authority: Authority) -> None:
        """Its alert arrives after the request was sent."""
        with scripted(fine, context(authority, NAME, ask=True)) as server:
            error = refusal(server, Tls(authority.ca, server_name=NAME))
        assert type(error) is TlsFailed
        assert "certificate required" in str(error)

    def test_plain_http_behind_https_is_a_failure_of_tls(self, authority: Authority) -> None:
        """It is not a network failure."""

        def greet(wire: Wire) -> None:
            wire.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            wire.hang()

        with scripted(greet) as server:
            error = refusal(server, Tls(authority.ca))
        assert type(error) is WithoutTls
        assert str(error) == "TLS: wrong version number, as from a server without TLS"

    @pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{"])
    def test_tls_that_fails_once_the_request_was_sent_says_nothing_of_the_request(
        self, authority: Authority, answer: bytes
    ) -> None:
        """A write may have been performed: a device in between restarts, or mixes connections."""

        def garble(wire: Wire) -> None:
            wire.read()
            if answer:
                wire.send(answer)
            os.write(wire.connection.fileno(), b"HTTP/1.1 502 Bad Gateway\r\n\r\n")
            wire.hang()

        with scripted(garble, context(authority, NAME)) as server:
            error = refusal(server, Tls(authority.ca, server_name=NAME))
        assert type(error) is Interrupted
        assert "TLS: " in str(error)

    def test_a_server_that_hangs_up_in_the_handshake_is_interrupted(self, authority: Authority) -> None:
        """The server restarts: no certificate is wrong."""

        def end(wire: Wire) -> None:
            wire.connection.recv(65536)

        with scripted(end) as server:
            assert type(refusal(server, Tls(authority.ca))) is Interrupted

    def test_any_certificate_is_accepted_when_asked_for(self, authority: Authority) -> None:
        """A warning would be an error in pytest."""
        with scripted(fine, context(authority, NAME)) as server:
            assert ask(server, Tls(insecure_skip_verify=True)) == "{}"

    def test_the_environments_authorities_do_not_replace_those_asked_for(
        self, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The library lets REQUESTS_CA_BUNDLE override a session's own."""
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(Authority(tmp_path).ca))
        with scripted(fine, context(authority, NAME)) as server:
            assert ask(server, Tls(authority.ca, server_name=NAME), environment=True) == "{}"
            assert ask(server, Tls(insecure_skip_verify=True), environment=True) == "{}"

    @pytest.mark.parametrize("which", ["ca_file", "cert_file"])
    def test_a_missing_file_is_named_and_nothing_is_sent(
        self, authority: Authority, tmp_path: Path, which: str
    ) -> None:
        """It may have existed when the daemon started."""
        gone = tmp_path / "gone.pem"
        with scripted(fine, context(authority, NAME)) as server:
            error = refusal(server, Tls(gone) if which == "ca_file" else Tls(authority.ca, gone))
        assert type(error) is Unreachable
        assert "gone.pem" in str(error)
        assert server.requests == []


def test_a_port_without_a_listener_refuses(session: Session) -> None:
    """Nothing was sent, so a write was certainly not performed."""
    with pytest.raises(Unreachable, match=r"^Connection refused$"):
        session.post(f"http://127.0.0.1:{free_port()}/", data="{}", timeout=10)


def test_a_connection_can_be_supplied(tmp_path: Path) -> None:
    """It may be a Unix socket or an ssh client."""
    path = str(tmp_path / "socket")

    def dial(seconds: float) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(seconds)
        connection.connect(path)
        return connection

    with socket.socket(socket.AF_UNIX) as listening, Session(dial=dial) as session:
        listening.bind(path)
        listening.listen()
        with pytest.raises(Late):
            session.get("http://docker:2375/version", timeout=0.2)


def test_a_connection_that_cannot_be_supplied_is_unreachable() -> None:
    """The message has the system's text."""

    def dial(seconds: float) -> socket.socket:
        raise FileNotFoundError(2, "No such file or directory", "/secret/path")

    with Session(dial=dial) as session, pytest.raises(Unreachable, match=r"^No such file or directory$"):
        session.get("http://docker:2375/version", timeout=1)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_connecting_takes_only_its_share_of_the_time(scheme: str) -> None:
    """The rest is for the next address of the server."""
    given: list[float] = []

    def dial(seconds: float) -> socket.socket:
        given.append(seconds)
        raise ConnectionRefusedError(111, "Connection refused")

    with Session(dial=dial, connect_share=lambda: 0.25) as session, pytest.raises(Unreachable):
        session.get(f"{scheme}://docker:2375/version", timeout=60)
    (seconds,) = given
    assert seconds <= 15


def test_proxies_of_the_environment_are_used_only_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent's address is reached directly; a Prometheus may be behind a proxy."""
    for variable in ("NO_PROXY", "no_proxy", "http_proxy"):
        monkeypatch.delenv(variable, raising=False)
    with scripted(fine) as proxy, scripted(fine) as server:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        with Session() as session:
            session.get(server.url, timeout=10)
        assert (proxy.accepted, server.accepted) == (0, 1)
        with Session(environment=True) as session:
            session.get(server.url, timeout=10)
        assert (proxy.accepted, server.accepted) == (1, 1)


def test_the_server_name_is_checked_through_a_proxy_too() -> None:
    """A proxy of the environment must not weaken the verification."""
    transport = Session(Tls(server_name="prometheus.internal")).transport
    names = transport.proxy_manager_for("http://127.0.0.1:1").connection_pool_kw
    assert names["assert_hostname"] == names["server_hostname"] == "prometheus.internal"


def test_a_socks_proxy_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its library ignores the deadline."""
    monkeypatch.setenv("HTTP_PROXY", "socks5://me:hunter2@127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with Session(environment=True) as session, pytest.raises(Unreachable, match=r"only HTTP proxies") as caught:
        session.get("http://prometheus.example/", timeout=1)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("environment", [False, True])
def test_netrc_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environment: bool) -> None:
    """Only configured credentials may be sent."""
    (tmp_path / "netrc").write_text("default login me password hunter2\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with scripted(fine) as server, Session(environment=environment) as session:
        session.get(server.url, timeout=10)
    assert b"authorization" not in server.requests[0].lower()


def test_no_secret_is_in_a_message(session: Session) -> None:
    """The errors of requests quote the URL's parameters and the headers' tokens."""
    nowhere = f"http://me:hunter2@127.0.0.1:{free_port()}/"
    tries = [
        {"url": nowhere, "params": {"token": "hunter2"}},
        {"url": nowhere, "headers": {"X-Token": "hunter2\r\n"}},
        {"url": "http://me:hunter2@:x/"},
        {"url": "ftp://me:hunter2@127.0.0.1/"},
        {"url": "http://hunter2.example:hunter2/"},
    ]
    for one in tries:
        with pytest.raises(HttpError) as caught:
            session.request("GET", timeout=5, **one)  # type: ignore[arg-type] # each has its own keys
        assert "hunter2" not in str(caught.value)


def test_the_callers_exception_is_not_reported_as_the_cause(session: Session) -> None:
    """Python stores it as the context of every error; its text may contain anything."""
    try:
        int("hunter2")
    except ValueError:
        with pytest.raises(Unreachable, match=r"^Connection refused$"):
            session.get(f"http://127.0.0.1:{free_port()}/", timeout=10)


def test_importing_the_errors_imports_no_library() -> None:
    """`autoscaler check` loads modules that import them."""
    program = (
        "import sys, autoscaler.net;print([name for name in ('requests', 'urllib3', 'socket') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() in ("[]", "['socket']")


class TestDropped:
    """A server closes a connection that was idle as the next request arrives, as a load balancer does after 60 s."""

    @staticmethod
    def drops(after: int = 1) -> Script:
        """Return a script that answers `after` requests of a connection, reads another one, and closes."""

        def script(wire: Wire) -> None:
            for _ in range(after):
                wire.read()
                wire.answer(b"{}")
            wire.read()

        return script

    def test_a_read_is_repeated_once_on_a_new_connection(self) -> None:
        """With a period of 60 s, the metric failed in every cycle."""
        with scripted(self.drops()) as server, Session() as session:
            for _ in range(3):
                assert session.get(server.url, timeout=60).text == "{}"
            assert session.request("POST", server.url, timeout=60, data=b"query", read=True).text == "{}"
            assert server.accepted == 4
            assert len(server.requests) == 7

    def test_a_read_is_repeated_behind_tls(self, authority: Authority) -> None:
        """There, the end may be without TLS's own words."""
        with scripted(self.drops(), context(authority, NAME)) as server:
            with Session(Tls(authority.ca, server_name=NAME)) as session:
                for _ in range(3):
                    assert session.get(server.url.replace("http:", "https:"), timeout=60).text == "{}"
            assert server.accepted == 3

    @pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
    def test_a_write_is_never_repeated(self, method: str) -> None:
        """It may have been carried out."""
        with scripted(self.drops()) as server, Session() as session:
            session.get(server.url, timeout=60)
            with pytest.raises(Dropped, match="closed the connection without an answer"):
                session.request(method, server.url, timeout=60)
            assert len(server.requests) == 2

    def test_a_new_connection_that_is_closed_is_an_error(self) -> None:
        """The server does not answer: one more request would only add load."""
        with scripted(self.drops(0)) as server, Session() as session:
            with pytest.raises(Interrupted, match="closed the connection without an answer"):
                session.get(server.url, timeout=60)
            assert server.accepted == 1

    def test_an_answer_that_is_cut_short_is_an_error(self) -> None:
        """The server was about to answer, and may be overloaded."""

        def cut(wire: Wire) -> None:
            wire.read()
            wire.answer(b"{}")
            wire.read()
            wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")

        with scripted(cut) as server, Session() as session:
            session.get(server.url, timeout=60)
            with pytest.raises(Interrupted, match="cut short"):
                session.get(server.url, timeout=60)
            assert server.accepted == 1

    def test_the_repeated_read_has_the_time_that_is_left(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The deadline is the cycle's. Here its first read takes 52 of 60 seconds, and its second 20."""
        came, clock = list[int](), Ahead()
        monkeypatch.setattr("autoscaler.net.session.time", clock)

        def slow(wire: Wire) -> None:
            came.append(1)
            wire.read()
            if len(came) == 1:
                wire.answer(b"{}")
                wire.read()
                clock.passed += 52
                return
            clock.passed += 20
            wire.repeat(b"HTTP/1.1 200 OK\r\n")

        with scripted(slow) as server, Session() as session:
            session.get(server.url, timeout=60)
            with pytest.raises(Late, match=r"did not answer within \d(\.\d+)? s"):
                session.get(server.url, timeout=60)
            assert len(came) == 2

    def test_a_reset_of_an_idle_connection_is_a_drop(self) -> None:
        """A firewall that has forgotten the connection resets it."""

        def reset(wire: Wire) -> None:
            wire.read()
            wire.answer(b"{}")
            wire.read()
            wire.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

        with scripted(reset) as server, Session() as session:
            assert [session.get(server.url, timeout=60).text for _ in range(2)] == ["{}"] * 2
