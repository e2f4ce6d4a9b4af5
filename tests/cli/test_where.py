"""Commands look for the daemon at its control socket first; over TCP they only read."""

import os
import socket
import stat
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from autoscaler import service
from autoscaler.cli import find_daemon, server
from autoscaler.cli.options import Where
from autoscaler.cli.server import Server
from autoscaler.config.settings import Settings
from autoscaler.view.status import DaemonStatus
from autoscaler.web.control import ControlSocket
from tests.cli.scene import UNREACHABLE, Result, ServedScene, steering
from tests.waiting import PATIENCE_SECONDS
from tests.web.serving import Daemon


@pytest.fixture(autouse=True)
def places(online: ServedScene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No $AUTOSCALER_SERVER, no service on this machine, nothing at the default address, no pause."""
    env = {"STATE_DIRECTORY": str(tmp_path / "state"), "AUTOSCALER_SERVER": "", "RUNTIME_DIRECTORY": ""}
    monkeypatch.setattr(online, "env", env)
    monkeypatch.setattr(service, "CONTROL_SOCKET", tmp_path / "no-service.sock")
    monkeypatch.setattr(find_daemon, "_DEFAULT_SERVER", UNREACHABLE)
    yield
    online.run("resume", "--all", "--server", f"unix://{online.served.control_socket}")


@pytest.fixture
def config(online: ServedScene, tmp_path: Path) -> Path:
    """A configuration that is being edited. It names the daemon's socket by a relative path."""
    file = tmp_path / "autoscaler.yaml"
    socket = os.path.relpath(online.served.control_socket, tmp_path)
    file.write_text(f"web: {{controlSocket: {socket}}}\nadapters: not yet\n")
    return file


def _settings(daemon: Daemon, was: property = Daemon.__dict__["settings"]) -> Settings:
    return was.__get__(daemon)  # type: ignore[no-any-return]  # a property is untyped


def paused(scene: ServedScene, *options: str) -> Result:
    """Pause `jobs` with these options."""
    said = scene.run("pause", "jobs", *options)
    assert said.code == 0, said.err
    assert steering(scene, "jobs") is not None
    return said


def test_the_socket_that_the_configuration_names_is_used(online: ServedScene, config: Path) -> None:
    """An operator can pause while the rest of the file is invalid."""
    paused(online, "--config.file", str(config))


def test_the_daemon_that_runs_the_file_is_found_wherever_its_socket_is(
    online: ServedScene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A daemon that was started with another $STATE_DIRECTORY has its socket there."""
    file = tmp_path / "running.yaml"
    file.write_text("adapters: not yet\n")
    monkeypatch.setattr(Daemon, "settings", property(lambda self: replace(_settings(self), path=file)))
    link = tmp_path / "link.yaml"
    link.symlink_to(file)
    for given in (str(file), str(link), os.path.relpath(file)):
        paused(online, "--config.file", given)
        assert online.run("override", "jobs", "--config.file", given, "--min", "2").code == 0
        assert online.run("resume", "jobs", "--config.file", given).code == 0
        assert steering(online, "jobs") is None
        assert online.run("get", "web", "--config.file", given).lines[1].startswith("web ")
    before = online.daemon.reloads
    assert online.run("reload", "--config.file", str(file)).code == 0
    assert online.daemon.reloads == before + 1


def test_a_daemon_that_hangs_does_not_keep_another_from_being_found(
    online: ServedScene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several users' daemons may run on a machine."""
    file, hung = tmp_path / "running.yaml", tmp_path / "control.sock"
    file.write_text("{}\n")
    monkeypatch.setattr(Daemon, "settings", property(lambda self: replace(_settings(self), path=file)))
    runs = find_daemon.runs

    def quickly_if_hung(server: Server, config: Path) -> DaemonStatus | None:
        monkeypatch.setattr(find_daemon, "_LOOK_SECONDS", 0.1 if server.socket == hung else PATIENCE_SECONDS)
        return runs(server, config)

    monkeypatch.setattr(find_daemon, "runs", quickly_if_hung)
    monkeypatch.setattr(find_daemon, "_control_sockets", lambda: [hung, online.served.control_socket])
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(hung))
        listening.listen()
        paused(online, "--config.file", str(file))
        assert online.run("get", "web", "--config.file", str(file)).lines[1].startswith("web ")


@pytest.mark.parametrize(
    "command", [("pause", "jobs"), ("resume", "jobs"), ("override", "jobs", "--min", "2"), ("reload",)]
)
def test_a_daemon_that_runs_another_file_is_not_changed(
    online: ServedScene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Sequence[str]
) -> None:
    """With the wanted daemon down, the pause would reach autoscalers of the same names in another one."""
    file = tmp_path / "stopped.yaml"
    file.write_text("{}\n")
    monkeypatch.setattr(service, "CONTROL_SOCKET", online.served.control_socket)
    before = online.daemon.reloads
    said = online.run(*command, "--config.file", str(file))
    assert said.code == 1
    assert f"no daemon that runs {file} answers, and only a daemon can do this" in said.err
    assert (steering(online, "jobs"), online.daemon.reloads) == (None, before)


def test_without_options_the_services_socket_is_used(online: ServedScene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "CONTROL_SOCKET", online.served.control_socket)
    paused(online)


def test_the_server_option_takes_precedence_over_the_configuration(online: ServedScene, config: Path) -> None:
    """The environment variable does, too."""
    for options, environment in ((("--server", UNREACHABLE), ""), ((), UNREACHABLE)):
        said = online.run("pause", "jobs", "--config.file", str(config), *options, AUTOSCALER_SERVER=environment)
        assert said.code == 1
        assert f"no daemon answers at {UNREACHABLE}" in said.err
    assert steering(online, "jobs") is None


def test_without_a_socket_the_default_address_is_asked_by_every_command(
    online: ServedScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find_daemon, "_DEFAULT_SERVER", online.served.server.url)
    assert online.run("get", "web").lines[1].startswith("web ")
    said = online.run("pause", "jobs")
    assert said.code == 1
    assert "because web.operators does not name it" in said.err
    assert steering(online, "jobs") is None


def test_the_address_that_the_configuration_names_is_used(
    online: ServedScene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the service would be shown instead of a second daemon that is down."""
    address = online.served.server.url.removeprefix("http://")
    file = tmp_path / "autoscaler.yaml"
    file.write_text(f"web: {{listenAddress: '{address}'}}\nautoscalers: []\n")
    assert online.run("get", "web", "--config.file", str(file)).lines[1].startswith("web ")
    file.write_text(f"web: {{listenAddress: ':{address.rpartition(':')[2]}'}}\nautoscalers: []\n")
    assert online.run("get", "web", "--config.file", str(file)).lines[1].startswith("web "), "every address is ours too"
    monkeypatch.setattr(find_daemon, "_DEFAULT_SERVER", online.served.server.url)
    file.write_text("web: {listenAddress: '0.0.0.0:1'}\nautoscalers: []\n")
    said = online.run("get", "--config.file", str(file))
    assert "no daemon answers at http://0.0.0.0:1" in said.err
    assert not any(line.startswith("web ") for line in said.lines)


def test_a_user_whom_the_control_socket_refuses_can_still_read(
    online: ServedScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pool's worker may reach the socket of its own user and must not use it."""
    monkeypatch.setattr(ControlSocket, "refuses", lambda self, uid: True)
    monkeypatch.setattr(service, "CONTROL_SOCKET", online.served.control_socket)
    monkeypatch.setattr(find_daemon, "_DEFAULT_SERVER", online.served.server.url)
    assert online.run("get", "web").lines[1].startswith("web ")
    said = online.run("pause", "jobs")
    assert said.code == 1
    assert "the control socket is for operators" in said.err


def test_a_socket_in_an_unreadable_folder_is_skipped(
    online: ServedScene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`Path.exists` raises if $RUNTIME_DIRECTORY is closed to the user."""
    file = Path("/etc/autoscaler/autoscaler.yaml")  # which the daemon runs
    monkeypatch.setattr("autoscaler.config.control_socket.configured_places", lambda _: (None, None))

    def closed(path: Path, **_: object) -> os.stat_result:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(service, "CONTROL_SOCKET", online.served.control_socket)
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path))
    with monkeypatch.context() as patched:
        patched.setattr(Path, "exists", closed)
        found = [each.socket for each in find_daemon.servers(Where(None, None, file))]
    assert online.served.control_socket in found  # daemons of other workers may say that they run this file, too


@pytest.mark.parametrize(("mode", "told"), [(0o2750, True), (0o2700, False)])
def test_a_user_without_permission_is_told_which_group_to_join(tmp_path: Path, mode: int, told: bool) -> None:
    """This applies only if the group may use the folder."""
    folder = tmp_path / "control"
    folder.mkdir()
    folder.chmod(mode)
    assert stat.S_IMODE(folder.stat().st_mode) == mode
    assert ("sudo adduser " in server._permission(folder / "control.sock")) is told
