"""Where the daemon is asked, and what becomes of it when that fails."""

import json
import re
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.cli.scene import Scene, ServedScene
from tests.servers.ports import free_port
from tests.servers.web import serving


class Page(BaseHTTPRequestHandler):
    """Some other program's page."""

    def do_GET(self) -> None:
        body = b"<html>hello</html>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Silent."""


class Older(Page):
    """A daemon of a version with other documents."""

    body = json.dumps({"status": "success", "data": {"autoscalers": [{"name": "web"}], "total": 1}}).encode()

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)


class Hostile(Older):
    """Would like to steer the terminal."""

    body = json.dumps({"status": "error", "error": "\x1b]0;title\x07"}).encode()


class Redirect(Page):
    """Leads elsewhere."""

    def do_GET(self) -> None:
        self.send_response(302)
        self.send_header("Location", "http://127.0.0.1:1/")
        self.send_header("Content-Length", "0")
        self.end_headers()


class Rude(Page):
    """Hangs up."""

    def do_GET(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")


def test_the_option_goes_before_the_environment(online: ServedScene) -> None:
    """As everywhere."""
    url = online.env["AUTOSCALER_SERVER"]
    said = online.run("get", "web", "--server", f"{url}/", AUTOSCALER_SERVER="http://127.0.0.1:1")
    assert (said.code, said.err) == (0, "")


@pytest.mark.parametrize("handler", [Page, Redirect])
def test_another_programs_answer_is_told_apart(offline: Scene, handler: type[Page]) -> None:
    """9797 may be somebody else's; the state is not read for it, for a daemon may run elsewhere."""
    with serving(handler) as url:
        said = offline.run("get", "--server", url)
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith(f"{url} answered HTTP ")
    assert said.err.endswith("that is not an autoscaler: check --server\n")


def test_an_answer_that_breaks_off_is_an_error(offline: Scene) -> None:
    """Half a list must not look like a whole one."""
    with serving(Rude) as url:
        said = offline.run("get", "--server", url)
    assert (said.code, said.out) == (1, "")
    assert said.err == f"{url} closed the connection (ProtocolError); check --server\n"


def test_another_hosts_state_is_not_here(offline: Scene) -> None:
    """What this machine remembers is another daemon's."""
    said = offline.run("get", "--server", "http://autoscaler.invalid:9797")
    assert (said.code, said.out) == (1, "")
    assert re.fullmatch(
        r"no daemon answers at http://autoscaler\.invalid:9797 \(.*\); start it there, or give its address with "
        r"--server or \$AUTOSCALER_SERVER\n",
        said.err,
    )


@pytest.mark.parametrize(
    "url", ["localhost:9797", "ftp://x", "http://", "http://x:99999", "http://[", "http://x/?a=b", ""]
)
def test_what_is_no_url_is_a_wrong_argument(offline: Scene, url: str) -> None:
    """Exit code 2."""
    said = offline.run("get", "--server", url)
    assert (said.code, said.out) == (2, "")
    assert "http://127.0.0.1:9797" in said.err


def test_a_password_in_the_url_is_refused_and_not_repeated(offline: Scene) -> None:
    """It would stand in the shell's history and in `ps`."""
    said = offline.run("get", "--server", "http://ann:secret@localhost:9797")
    assert said.code == 2
    assert "secret" not in said.err
    assert "--http.config.file" in said.err


def test_without_daemon_and_state_both_are_named(tmp_path: Path, offline: Scene) -> None:
    """The operator sees where was looked."""
    url = f"http://127.0.0.1:{free_port()}"
    said = offline.run("get", "--server", url, STATE_DIRECTORY=str(tmp_path))
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith(
        f"no daemon answers at {url} (connection refused); if it runs, give its address with --server"
    )
    assert "Its state cannot be read either: " in said.err
    assert str(tmp_path / "state.db") in said.err


def test_the_configuration_says_where_the_state_is(tmp_path: Path, offline: Scene) -> None:
    """And what is configured now."""
    config = tmp_path / "autoscaler.yaml"
    config.write_text(f"state: {{url: 'sqlite:///{offline.folder}/state.db'}}\nautoscalers: []\n")
    said = offline.run("get", "--config.file", str(config), STATE_DIRECTORY="/nonexistent")
    assert said.code == 0
    assert len(said.lines) == 4


def test_a_configuration_that_does_not_load_is_said(tmp_path: Path, offline: Scene) -> None:
    """It decides where to look."""
    said = offline.run("get", "--config.file", str(tmp_path / "absent.yaml"))
    assert (said.code, said.out) == (1, "")
    assert "absent.yaml:1:1: the file cannot be read" in said.err


@pytest.mark.parametrize("command", ["get", "describe", "explain", "history", "events"])
def test_another_versions_documents_are_told_with_the_remedy(offline: Scene, command: str) -> None:
    """A daemon is upgraded before or after the shell's own program."""
    with serving(Older) as url:
        said = offline.run(command, "web", "--server", url)
    assert (said.code, said.out) == (1, "")
    assert "install the daemon's version" in said.err


@pytest.mark.parametrize("output", ["table", "wide", "json", "yaml"])
def test_where_another_versions_document_differs_is_told(offline: Scene, output: str) -> None:
    """In every form: a script is to see the error, not half of what it reads."""
    with serving(Older) as url:
        said = offline.run("get", "-o", output, "--server", url)
    assert (said.code, said.out) == (1, "")
    assert f"this version does not understand the answer of {url} (at autoscalers.0.reference); " in said.err


def test_what_a_server_says_cannot_steer_the_terminal(offline: Scene) -> None:
    """Its errors are shown, its escapes are not obeyed."""
    with serving(Hostile) as url:
        said = offline.run("get", "--server", url)
    assert said.code == 1
    assert "\x1b" not in said.err
    assert "\\x1b]0;title" in said.err
