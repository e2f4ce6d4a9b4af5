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
from autoscaler.web import WebServer
from autoscaler.web.control import MOST_CONNECTIONS, ControlSocket
from tests.web.serving import Daemon, Logged, Served, serving
from tests.web.unix import THIS_USER, unix_session

PAUSE = "/api/v1/autoscalers/web/pause"
NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path: a socket's has 107 bytes at most."""
    with TemporaryDirectory() as made:
        yield Path(made)


def ask_as(uid: int, path: Path) -> tuple[int, str]:
    """What a process of another user is answered to a pause: the status, and what it says."""
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


def test_the_author_of_a_change_is_the_peers_user(served: Served) -> None:
    answer = served.post(PAUSE, {"reason": "load test"})
    assert answer.json()["data"]["pause"]["by"] == THIS_USER


@needs_root
def test_a_user_without_a_name_is_recorded_by_number(served: Served) -> None:
    """A container's made-up user."""
    served.control_socket.parent.chmod(0o755)
    served.control_socket.chmod(0o666)
    status, body = ask_as(4711, served.control_socket)
    assert status == 200
    assert json.loads(body)["data"]["pause"]["by"] == "uid 4711"


def test_what_the_kernel_knows_is_all_that_counts(served: Served) -> None:
    """No header, and no Host, makes an operator of somebody else or a stranger of an operator."""
    headers = {"Host": "evil.example", "Origin": "http://evil.example", "Authorization": "Basic YW5uOng="}
    assert served.post(PAUSE, headers=headers).json()["data"]["pause"]["by"] == THIS_USER


def test_reading_works_there_too(served: Served) -> None:
    assert served.control.get("http://localhost/api/v1/autoscalers/web", timeout=10).status_code == 200


def test_only_the_owner_and_the_folders_group_reach_it(folder: Path) -> None:
    control = ControlSocket(folder / "control" / "control.sock")
    assert stat.S_IMODE(control.path.stat().st_mode) == 0o660
    assert stat.S_IMODE(control.path.parent.stat().st_mode) == 0o700
    control.close()
    assert not control.path.exists()


@needs_root
def test_the_socket_has_the_group_of_a_setgid_folder(folder: Path) -> None:
    """A daemon that is not in the group could not give it."""
    os.chown(folder, -1, NOBODY)
    folder.chmod(0o2750)
    control = ControlSocket(folder / "control.sock")
    assert control.path.stat().st_gid == NOBODY
    control.close()


def test_a_process_of_the_daemons_own_user_is_refused_where_the_folder_has_a_group_of_operators(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pool's worker. Without such a group, as for a daemon that somebody starts by hand, the user is the operator."""
    control = ControlSocket(folder / "control.sock")
    monkeypatch.setattr(os, "geteuid", lambda: NOBODY)
    assert not control.refuses(NOBODY)
    monkeypatch.setattr(os, "getegid", lambda: control.path.parent.stat().st_gid + 1)
    assert control.refuses(NOBODY)
    assert not control.refuses(0)
    assert not control.refuses(1000)
    control.close()


def test_a_refused_peer_is_told_why(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ControlSocket, "refuses", lambda self, uid: True)
    answer = served.post(PAUSE)
    assert answer.status_code == 403
    assert "the control socket is for operators" in answer.json()["error"]
    assert served.daemon.state.archive.steering() == {}


def test_a_socket_that_a_killed_daemon_left_is_replaced(folder: Path) -> None:
    left = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    left.bind(str(folder / "control.sock"))
    left.listen()
    left.close()
    ControlSocket(folder / "control.sock").close()


def test_a_socket_that_another_daemon_uses_is_left_alone(daemon: Daemon, folder: Path) -> None:
    """Also when it has no room for a connection. The address that was taken first is let go."""
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


def test_a_daemon_that_ends_leaves_anothers_socket(folder: Path) -> None:
    first = ControlSocket(folder / "control.sock")
    first.path.unlink()
    second = ControlSocket(folder / "control.sock")
    first.close()
    assert second.path.exists()
    second.close()


def test_what_is_no_socket_is_not_replaced(folder: Path) -> None:
    (folder / "control.sock").write_text("notes")
    with pytest.raises(ListenError, match="something that is not a socket is at this path"):
        ControlSocket(folder / "control.sock")
    assert (folder / "control.sock").read_text() == "notes"


@pytest.mark.parametrize(
    ("path", "told"),
    [("x" * 120, "at most 107; shorten it"), ("none/at/all/control.sock", "No such file or directory")],
    ids=["too long", "no folder"],
)
def test_a_path_that_cannot_be_used_ends_the_start(folder: Path, path: str, told: str) -> None:
    with pytest.raises(ListenError, match=told):
        ControlSocket(folder / path)


def test_idle_connections_keep_no_operator_out(served: Served) -> None:
    """A worker, or a script gone wrong, opens what it can."""
    held = []
    for _ in range(4 * MOST_CONNECTIONS):
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        client.settimeout(10)
        client.connect(str(served.control_socket))
        client.sendall(b"POST")
        held.append(client)
    with unix_session(served.control_socket) as operator:
        assert operator.post(f"http://localhost{PAUSE}", timeout=10).status_code == 200
    for client in held:
        client.close()


def test_the_socket_goes_with_the_server(daemon: Daemon) -> None:
    with serving(daemon) as served:
        path = served.control_socket
        assert stat.S_ISSOCK(path.stat().st_mode)
        (path.parent / "mark").touch()
        served.server.stop()
        assert not path.exists()
