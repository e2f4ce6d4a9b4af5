"""Which daemon a command asks, and what it does if that fails."""

import json
import re
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from tests.cli.scene import Scene, ServedScene, served_scene
from tests.servers.ports import free_port
from tests.servers.web import serving


def answering(raw: bytes) -> type[BaseHTTPRequestHandler]:
    """Return the handler of a server that answers every request with these bytes and closes the connection."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.wfile.write(raw)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    return Handler


def document(**content: Any) -> bytes:
    body = json.dumps(content).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


PAGE = answering(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello")
REDIRECT = answering(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")
TRUNCATED = answering(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
OLDER = answering(document(status="success", data={"autoscalers": [{"name": "web"}], "total": 1}))
HOSTILE = answering(document(status="error", error="\x1b]0;title\x07"))


def test_the_option_takes_precedence_over_the_environment(online: ServedScene) -> None:
    url = online.env["AUTOSCALER_SERVER"]
    said = online.run("get", "web", "--server", f"{url}/", AUTOSCALER_SERVER="http://127.0.0.1:1")
    assert (said.code, said.err) == (0, "")


@pytest.mark.parametrize("handler", [PAGE, REDIRECT], ids=["page", "redirect"])
def test_an_answer_of_another_program_is_reported(offline: Scene, handler: type[BaseHTTPRequestHandler]) -> None:
    """The state is not read, because a daemon may run elsewhere."""
    with serving(handler) as url:
        said = offline.run("get", "--server", url)
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith(f"{url} answered HTTP ")
    assert said.err.endswith("that is not an autoscaler: check --server\n")


def test_a_truncated_answer_is_an_error(offline: Scene) -> None:
    """Half a list must not look like a whole one."""
    with serving(TRUNCATED) as url:
        said = offline.run("get", "--server", url)
    assert (said.code, said.out) == (1, "")
    assert said.err == f"{url} closed the connection (IncompleteRead); check --server\n"


def test_a_failure_of_the_daemon_is_no_refusal(tmp_path: Path) -> None:
    """Other credentials, or another request, would not help. The cause names the file once."""
    with served_scene(tmp_path) as scene:
        file, url = tmp_path / "state.db", scene.served.server.url
        file.rename(tmp_path / "elsewhere.db")
        said = scene.run("get", "--server", url)
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith(f"{url} cannot answer: the state's file {file} was moved, deleted or replaced while ")
    assert said.err.count(str(file)) == 1


def test_the_local_state_is_not_read_for_a_remote_daemon(offline: Scene) -> None:
    """It is the state of another daemon."""
    said = offline.run("get", "--server", "http://autoscaler.invalid:9797")
    assert (said.code, said.out) == (1, "")
    assert re.fullmatch(
        r"no daemon answers at http://autoscaler\.invalid:9797 \(.*\); start it there, or name it with --config.file, "
        r"--server or \$AUTOSCALER_SERVER\n",
        said.err,
    )


@pytest.mark.parametrize(
    "url", ["localhost:9797", "ftp://x", "http://", "http://x:99999", "http://[", "http://x/?a=b", ""]
)
def test_an_invalid_url_exits_2(offline: Scene, url: str) -> None:
    said = offline.run("get", "--server", url)
    assert (said.code, said.out) == (2, "")
    assert "http://127.0.0.1:9797" in said.err


def test_a_password_in_the_url_is_refused_and_not_repeated(offline: Scene) -> None:
    """The shell's history and `ps` would show it."""
    said = offline.run("get", "--server", "http://ann:secret@localhost:9797")
    assert said.code == 2
    assert "secret" not in said.err
    assert "--http.config.file" in said.err


def test_without_daemon_and_state_the_error_names_both(tmp_path: Path, offline: Scene) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    said = offline.run("get", "--server", url, STATE_DIRECTORY=str(tmp_path))
    assert (said.code, said.out) == (1, "")
    name_it = "name it with --config.file, --server or $AUTOSCALER_SERVER"
    down = f"no daemon answers at {url} (connection refused). If it runs, {name_it}. Its state cannot be read: "
    assert said.err.startswith(down)
    assert str(tmp_path / "state.db") in said.err


def test_the_state_that_the_configuration_names_is_read(tmp_path: Path, offline: Scene) -> None:
    config = tmp_path / "autoscaler.yaml"
    config.write_text(f"state: {{url: 'sqlite:///{offline.folder}/state.db'}}\nautoscalers: []\n")
    said = offline.run("get", "--config.file", str(config), STATE_DIRECTORY="/nonexistent")
    assert said.code == 0
    assert len(said.lines) == 4


def test_an_invalid_configuration_is_an_error(tmp_path: Path, offline: Scene) -> None:
    """It decides which state is read."""
    said = offline.run("get", "--config.file", str(tmp_path / "absent.yaml"))
    assert (said.code, said.out) == (1, "")
    assert "absent.yaml:1:1: the file cannot be read" in said.err


@pytest.mark.parametrize("command", ["get", "describe", "explain", "history", "events"])
def test_documents_of_another_version_are_reported_with_the_remedy(offline: Scene, command: str) -> None:
    """The daemon and the command may be upgraded separately."""
    with serving(OLDER) as url:
        said = offline.run(command, "web", "--server", url)
    assert (said.code, said.out) == (1, "")
    assert "install the daemon's version" in said.err


@pytest.mark.parametrize("output", ["table", "wide", "json", "yaml"])
def test_the_place_where_a_document_differs_is_reported(offline: Scene, output: str) -> None:
    """This holds for every output, so that a script does not read half a document."""
    with serving(OLDER) as url:
        said = offline.run("get", "-o", output, "--server", url)
    assert (said.code, said.out) == (1, "")
    assert f"this version does not understand the answer of {url} (at autoscalers.0.reference); " in said.err


def test_control_characters_in_a_servers_error_are_escaped(offline: Scene) -> None:
    with serving(HOSTILE) as url:
        said = offline.run("get", "--server", url)
    assert said.code == 1
    assert "\x1b" not in said.err
    assert "\\x1b]0;title" in said.err
