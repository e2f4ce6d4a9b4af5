"""The control socket: the kernel identifies this machine's operators."""

import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from autoscaler.errors import ListenError
from autoscaler.web.control import ControlSocket
from autoscaler.web.server import WebServer
from tests.web.serving import Daemon, Logged, Served, serving
from tests.web.unix import THIS_USER

PAUSE = "/api/v1/autoscalers/web/pause"
UNREACHABLE = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short path: a socket's path has at most 107 bytes."""
    with TemporaryDirectory() as made:
        yield Path(made)


def ask_as(uid: int, path: Path) -> tuple[int, str]:
    """Status and body of the answer to a pause by a process of this user."""
    program = (
        "import http.client, os, socket, sys\n"
        f"os.setgroups([]); os.setgid({uid}); os.setuid({uid})\n"
        "asking = http.client.HTTPConnection('localhost', timeout=10)\n"
        "asking.sock = socket.socket(socket.AF_UNIX)\n"
        "asking.sock.connect(sys.argv[1])\n"
        f"asking.request('POST', {PAUSE!r})\n"
        "answer = asking.getresponse()\n"
        "print(answer.status, answer.read().decode())\n"
    )
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, timeout=30, check=True)
    status, _, body = done.stdout.partition(" ")
    return int(status), body


@needs_root
def test_a_user_without_a_name_is_recorded_by_number(served: Served) -> None:
    """Containers may run as a uid that has no name."""
    served.control_socket.parent.chmod(0o755)
    served.control_socket.chmod(0o666)
    status, body = ask_as(4711, served.control_socket)
    assert status == 200
    assert json.loads(body)["data"]["pause"]["by"] == "uid 4711"


def test_the_author_of_a_change_is_the_peer_s_user_whatever_the_headers_say(served: Served) -> None:
    """The kernel names the user. No header adds or removes a right."""
    headers = {"Host": "evil.example", "Origin": "http://evil.example", "Authorization": "Basic YW5uOng="}
    assert served.post(PAUSE, headers=headers).json()["data"]["pause"]["by"] == THIS_USER


def test_only_the_owner_and_the_folder_s_group_can_connect(folder: Path) -> None:
    control = ControlSocket(folder / "control" / "control.sock")
    assert stat.S_IMODE(control.path.stat().st_mode) == 0o660
    assert stat.S_IMODE(control.path.parent.stat().st_mode) == 0o700
    control.close()
    assert not control.path.exists()


@needs_root
def test_the_socket_has_the_group_of_a_setgid_folder(folder: Path) -> None:
    """A daemon that is not in the group could not set it."""
    os.chown(folder, -1, UNREACHABLE)
    folder.chmod(0o2750)
    control = ControlSocket(folder / "control.sock")
    assert control.path.stat().st_gid == UNREACHABLE
    control.close()


def test_a_process_of_the_daemon_s_own_user_is_refused_if_the_folder_has_a_group_of_operators(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a process is a pool's worker. Without such a group (a daemon that was started by hand) it is an operator."""
    control = ControlSocket(folder / "control.sock")
    monkeypatch.setattr(os, "geteuid", lambda: UNREACHABLE)
    assert not control.refuses(UNREACHABLE)
    monkeypatch.setattr(os, "getegid", lambda: control.path.parent.stat().st_gid + 1)
    assert control.refuses(UNREACHABLE)
    assert not control.refuses(0)
    assert not control.refuses(1000)
    control.close()


def test_the_socket_of_a_killed_daemon_is_replaced(folder: Path) -> None:
    left = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    left.bind(str(folder / "control.sock"))
    left.listen()
    left.close()
    ControlSocket(folder / "control.sock").close()


def test_the_socket_of_a_running_daemon_is_not_replaced(daemon: Daemon, folder: Path) -> None:
    """This holds while its queue is full, too."""
    first = ControlSocket(folder / "control.sock")
    with pytest.raises(ListenError, match=r"another daemon uses it; set web\.controlSocket to another path"):
        WebServer(daemon.sources(), "127.0.0.1:0", None, Logged(), control=first.path)
    waiting = []
    for _ in range(2000):
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        client.setblocking(False)
        try:
            client.connect(str(first.path))
        except BlockingIOError:
            client.close()
            break
        waiting.append(client)
    with pytest.raises(ListenError, match="another daemon uses it"):
        ControlSocket(first.path)
    for client in waiting:
        client.close()
    assert first.path.exists()
    first.close()


def test_a_daemon_that_ends_does_not_remove_another_s_socket(folder: Path) -> None:
    first = ControlSocket(folder / "control.sock")
    first.path.unlink()
    second = ControlSocket(folder / "control.sock")
    first.close()
    assert second.path.exists()
    second.close()


def test_a_file_in_place_of_the_socket_is_not_replaced(folder: Path) -> None:
    (folder / "control.sock").write_text("notes")
    with pytest.raises(ListenError, match="something that is not a socket is at this path"):
        ControlSocket(folder / "control.sock")
    assert (folder / "control.sock").read_text() == "notes"


@pytest.mark.parametrize(
    ("path", "message"),
    [("x" * 120, "at most 107; shorten it"), ("none/at/all/control.sock", "No such file or directory")],
    ids=["too long", "no folder"],
)
def test_a_path_that_cannot_be_used_is_an_error(folder: Path, path: str, message: str) -> None:
    with pytest.raises(ListenError, match=message):
        ControlSocket(folder / path)


def test_a_stopped_server_removes_its_socket(daemon: Daemon) -> None:
    with serving(daemon) as served:
        assert stat.S_ISSOCK(served.control_socket.stat().st_mode)
        served.server.stop()
        assert not served.control_socket.exists()
