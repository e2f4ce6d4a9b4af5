"""The server as a part of the daemon: health, metrics, reload, its address."""

import gzip
import socket
import threading
from functools import partial
from pathlib import Path

import pytest
import requests

from autoscaler.errors import ListenError
from autoscaler.threads import spawn
from autoscaler.web import WebServer
from tests.web.serving import Daemon, Logged, Served, serving


def test_health_is_that_the_process_answers(served: Served) -> None:
    answer = served.get("/-/healthy")
    assert (answer.status_code, answer.text) == (200, "autoscaler is healthy.\n")


def test_readiness_follows_the_daemon(served: Served) -> None:
    """A rollout waits for it: it must not be said before the first cycles have ended."""
    assert served.get("/-/ready").status_code == 200
    served.daemon.is_ready = False
    assert served.get("/-/ready").status_code == 503


def test_reload_is_done_when_it_is_answered(served: Served) -> None:
    answer = served.post("/-/reload")
    assert (answer.status_code, served.daemon.reloads) == (200, 1)


def test_a_reload_that_fails_says_why(served: Served) -> None:
    served.daemon.problems = ["autoscaler.yaml:3:1: wrong", "autoscaler.yaml:4:1: wrong too"]
    answer = served.post("/-/reload")
    assert answer.status_code == 500
    assert answer.text.splitlines() == served.daemon.problems


def test_reload_is_no_get(served: Served) -> None:
    """A link must not reload anything."""
    assert served.get("/-/reload").status_code == 405
    assert served.daemon.reloads == 0


def test_metrics_are_those_of_the_registry(served: Served) -> None:
    answer = served.get("/metrics")
    assert "autoscaler_test 7.0" in answer.text
    assert answer.headers["content-type"].startswith("text/plain")


def test_long_answers_are_compressed(served: Served) -> None:
    answer = served.get("/api/v1/autoscalers/web", headers={"Accept-Encoding": "gzip"}, stream=True)
    assert answer.headers["content-encoding"] == "gzip"
    assert b'"status":"success"' in gzip.decompress(answer.raw.read())


def test_every_answer_has_strict_headers(served: Served) -> None:
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


def test_a_free_port_is_found_and_logged(daemon: Daemon) -> None:
    with serving(daemon) as served:
        line = {"event": "listening", "url": served.server.url, "control_socket": str(served.control_socket)}
        assert served.log.named("listening") == [line]
        assert not served.server.url.endswith(":0")


def test_an_address_in_use_is_a_clear_error(daemon: Daemon) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(ListenError, match=r"is in use by another process; stop that one, or listen elsewhere"):
            WebServer(daemon.sources(), address, None, Logged())


@pytest.mark.parametrize("address", ["localhost", "127.0.0.1:99999", "http://127.0.0.1:9797", ""])
def test_what_is_no_address_is_refused(daemon: Daemon, address: str) -> None:
    with pytest.raises(ListenError, match="expected HOST:PORT"):
        WebServer(daemon.sources(), address, None, Logged())


def test_an_address_of_another_machine_is_refused(daemon: Daemon) -> None:
    with pytest.raises(ListenError, match="cannot be listened on"):
        WebServer(daemon.sources(), "192.0.2.1:0", None, Logged())


def test_the_address_is_free_again_after_the_end(daemon: Daemon) -> None:
    with serving(daemon) as first:
        address = first.server.url.removeprefix("http://")
        first.get("/-/healthy")
    with serving(daemon, listen=address) as second:
        assert second.get("/-/healthy").status_code == 200


def test_a_server_that_was_never_started_lets_go(daemon: Daemon) -> None:
    server = WebServer(daemon.sources(), "127.0.0.1:0", None, Logged())
    server.stop()
    with pytest.raises(requests.ConnectionError):
        requests.get(server.url, timeout=5)


def test_ipv6_is_served(daemon: Daemon) -> None:
    with serving(daemon, listen="[::1]:0") as served:
        assert served.server.url.startswith("http://[::1]:")
        assert served.post("/api/v1/autoscalers/web/pause").status_code == 200


def test_a_bug_is_told_without_its_words(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an unexpected exception says may hold a secret."""
    monkeypatch.setattr(served.daemon.state.archive, "latest", lambda: 1 / 0)
    answer = served.get("/api/v1/autoscalers")
    assert (answer.status_code, answer.json()["errorType"]) == (500, "internal")
    assert "division" not in answer.text
    assert "ZeroDivisionError" in served.log.named("request_failed")[0]["error"]


def test_an_empty_web_configuration_is_one(daemon: Daemon, tmp_path: Path) -> None:
    """It names no users: nothing changes over TCP."""
    file = tmp_path / "web.yaml"
    file.write_text("")
    with serving(daemon, file) as served:
        assert served.get("/api/v1/autoscalers").status_code == 200
        answer = served.post("/api/v1/autoscalers/web/pause")
    assert answer.status_code == 403
    assert "web.operators" in answer.json()["error"]


def test_an_answer_that_takes_too_long_for_the_servers_end_is_given_up_without_a_line_in_the_log(
    daemon: Daemon, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The daemon is stopped while somebody reads a page on a busy machine: that is no error for the log."""
    asked, go_on, read = threading.Event(), threading.Event(), daemon.state.archive.latest

    def slowly() -> object:
        asked.set()
        assert go_on.wait(60)
        return read()

    monkeypatch.setattr(type(daemon.state.archive), "latest", lambda _archive: slowly())
    with serving(daemon) as served:
        answer = spawn("asking", partial(served.get, "/api/v1/autoscalers"))
        assert asked.wait(30)
    assert answer.result(30).status_code == 500
    go_on.set()
    assert [record.getMessage() for record in caplog.records] == []
