"""The server of the daemon: health, metrics, reloads, its address."""

import gzip
import socket
import threading
from functools import partial

import pytest
import requests

from autoscaler.errors import ListenError
from autoscaler.threads import spawn
from autoscaler.web.server import WebServer
from tests.web.serving import Daemon, Logged, Served, serving


def test_the_server_is_healthy_at_once_and_ready_when_the_daemon_is(served: Served) -> None:
    """A rollout waits until the first cycles have ended."""
    answer = served.get("/-/healthy")
    assert (answer.status_code, answer.text) == (200, "autoscaler is healthy.\n")
    assert served.get("/-/ready").status_code == 200
    served.daemon.is_ready = False
    assert served.get("/-/ready").status_code == 503


def test_a_resignation_is_answered_when_it_has_ended(served: Served) -> None:
    answer = served.post("/-/resign")
    assert (answer.status_code, answer.text, served.daemon.resignations) == (200, "resigned.\n", 1)
    (logged,) = served.log.named("resign_requested")
    assert logged["by"]


@pytest.mark.parametrize("path", ["/-/reload", "/-/resign"])
def test_a_get_changes_nothing(served: Served, path: str) -> None:
    """A link must not change anything."""
    assert served.get(path).status_code == 405
    assert (served.daemon.reloads, served.daemon.resignations) == (0, 0)


def test_metrics_come_from_the_daemon_s_registry(served: Served) -> None:
    answer = served.get("/metrics")
    assert "autoscaler_test 7.0" in answer.text
    assert answer.headers["content-type"].startswith("text/plain")


def test_long_answers_are_compressed(served: Served) -> None:
    answer = served.get("/api/v1/autoscalers/web", headers={"Accept-Encoding": "gzip"}, stream=True)
    assert answer.headers["content-encoding"] == "gzip"
    assert b'"status":"success"' in gzip.decompress(answer.raw.read())


def test_every_answer_has_the_security_headers(served: Served) -> None:
    for path in ("/-/healthy", "/api/v1/autoscalers", "/api/v1/nothing"):
        headers = served.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'self';")
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers
        assert "access-control-allow-origin" not in headers


def test_the_server_with_port_0_logs_the_port_that_it_found(daemon: Daemon) -> None:
    with serving(daemon) as served:
        line = {"event": "listening", "url": served.server.url, "control_socket": str(served.control_socket)}
        assert served.log.named("listening") == [line]
        assert not served.server.url.endswith(":0")


def test_an_address_in_use_is_an_error(daemon: Daemon) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(ListenError, match=r"is in use by another process; stop that one, or listen elsewhere"):
            WebServer(daemon.sources(), address, None, Logged())


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("localhost", "expected HOST:PORT"),
        ("127.0.0.1:99999", "expected HOST:PORT"),
        ("http://127.0.0.1:9797", "expected HOST:PORT"),
        ("", "expected HOST:PORT"),
        ("192.0.2.1:0", "cannot be listened on"),
    ],
)
def test_a_wrong_address_is_an_error(daemon: Daemon, address: str, message: str) -> None:
    """192.0.2.1 is the address of another machine."""
    with pytest.raises(ListenError, match=message):
        WebServer(daemon.sources(), address, None, Logged())


def test_a_stopped_server_releases_its_address(daemon: Daemon) -> None:
    with serving(daemon) as first:
        address = first.url.removeprefix("http://")
        first.get("/-/healthy")
    with serving(daemon, listen=address) as second:
        assert second.get("/-/healthy").status_code == 200


def test_a_server_that_was_never_started_releases_its_address(daemon: Daemon) -> None:
    server = WebServer(daemon.sources(), "127.0.0.1:0", None, Logged())
    server.stop()
    with pytest.raises(requests.ConnectionError):
        requests.get(server.url, timeout=30)


def test_ipv6_is_served(daemon: Daemon) -> None:
    with serving(daemon, listen="[::1]:0") as served:
        assert served.server.url.startswith("http://[::1]:")
        assert served.post("/api/v1/autoscalers/web/pause").status_code == 200


def test_a_bug_is_answered_without_its_message(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message of an unexpected exception may contain a secret."""
    monkeypatch.setattr(served.daemon.state.archive, "latest", lambda: 1 / 0)
    answer = served.get("/api/v1/autoscalers")
    assert (answer.status_code, answer.json()["errorType"]) == (500, "internal")
    assert "division" not in answer.text
    assert "ZeroDivisionError" in served.log.named("request_failed")[0]["error"]


def test_a_stop_drops_a_slow_answer_without_logging_an_error(
    daemon: Daemon, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Someone may read a page on a busy machine while the daemon stops."""
    asked, go_on, read = threading.Event(), threading.Event(), daemon.state.archive.latest

    def slowly() -> object:
        asked.set()
        assert go_on.wait(60)
        return read()

    monkeypatch.setattr(type(daemon.state.archive), "latest", lambda _archive: slowly())
    with serving(daemon) as served:
        answer = spawn("asking", partial(served.get, "/api/v1/autoscalers"))
        assert asked.wait(60)
    assert answer.result(60).status_code == 500
    go_on.set()
    assert [record.getMessage() for record in caplog.records] == []
