"""In which order commands look for the daemon: its control socket first, TCP only to read."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from autoscaler.cli import server, source
from autoscaler.web.control import ControlSocket
from tests.cli.scene import NOBODY, Said, ServedScene, steering


@pytest.fixture(autouse=True)
def places(online: ServedScene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No $AUTOSCALER_SERVER, no service on this machine, and nothing at the usual address; nothing is paused."""
    env = {"STATE_DIRECTORY": str(tmp_path / "state"), "AUTOSCALER_SERVER": "", "RUNTIME_DIRECTORY": ""}
    monkeypatch.setattr(online, "env", env)
    monkeypatch.setattr(source, "_SERVICE_SOCKET", tmp_path / "no-service.sock")
    monkeypatch.setattr(source, "_DEFAULT_SERVER", NOBODY)
    yield
    online.run("resume", "--all", "--server", f"unix://{online.served.control_socket}")


@pytest.fixture
def config(online: ServedScene, tmp_path: Path) -> Path:
    """A configuration that is being edited, with the daemon's socket by a path relative to it."""
    file = tmp_path / "autoscaler.yaml"
    socket = os.path.relpath(online.served.control_socket, tmp_path)
    file.write_text(f"web: {{controlSocket: {socket}}}\nadapters: not yet\n")
    return file


def paused(scene: ServedScene, *options: str) -> Said:
    """`jobs` is paused, asked with these options."""
    said = scene.run("pause", "jobs", *options)
    assert said.code == 0, said.err
    assert steering(scene, "jobs") is not None
    return said


def test_the_socket_of_a_configuration_is_asked(online: ServedScene, config: Path) -> None:
    """An operator pauses also while the rest of the file is wrong."""
    paused(online, "--config.file", str(config))


def test_the_service_is_asked_without_any_option(online: ServedScene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_SERVICE_SOCKET", online.served.control_socket)
    paused(online)


def test_a_server_that_is_given_goes_before_the_configuration(online: ServedScene, config: Path) -> None:
    """By the option or by the environment."""
    for options, environment in ((("--server", NOBODY), ""), ((), NOBODY)):
        said = online.run("pause", "jobs", "--config.file", str(config), *options, AUTOSCALER_SERVER=environment)
        assert said.code == 1
        assert f"no daemon answers at {NOBODY}" in said.err
    assert steering(online, "jobs") is None


def test_only_reading_falls_back_to_tcp(online: ServedScene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_DEFAULT_SERVER", online.served.server.url)
    assert online.run("get", "web").lines[1].startswith("web ")
    said = online.run("pause", "jobs")
    assert said.code == 1
    assert "no-service.sock" in said.err
    assert steering(online, "jobs") is None


def test_the_address_of_a_configuration_is_asked_and_not_another_daemons(
    online: ServedScene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a second daemon that is down would be shown as the service."""
    address = online.served.server.url.removeprefix("http://")
    file = tmp_path / "autoscaler.yaml"
    file.write_text(f"web: {{listenAddress: '{address}'}}\nautoscalers: []\n")
    assert online.run("get", "web", "--config.file", str(file)).lines[1].startswith("web ")
    file.write_text(f"web: {{listenAddress: ':{address.rpartition(':')[2]}'}}\nautoscalers: []\n")
    assert online.run("get", "web", "--config.file", str(file)).lines[1].startswith("web "), "every address is ours too"
    monkeypatch.setattr(source, "_DEFAULT_SERVER", online.served.server.url)
    file.write_text("web: {listenAddress: '0.0.0.0:1'}\nautoscalers: []\n")
    said = online.run("get", "--config.file", str(file))
    assert "no daemon answers at http://0.0.0.0:1" in said.err
    assert not any(line.startswith("web ") for line in said.lines)


def test_an_address_without_a_host_is_asked_on_this_machine(online: ServedScene, tmp_path: Path) -> None:
    """`:9797` listens on every address."""
    port = online.served.server.url.rpartition(":")[2]
    file = tmp_path / "autoscaler.yaml"
    file.write_text(f"web: {{listenAddress: ':{port}'}}\nautoscalers: []\n")
    assert online.run("get", "web", "--config.file", str(file)).lines[1].startswith("web ")


def test_a_user_whom_the_daemon_refuses_at_its_socket_still_reads(
    online: ServedScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process of the daemon's own user, such as a pool's worker, may reach the socket and not use it."""
    monkeypatch.setattr(ControlSocket, "refuses", lambda self, uid: True)
    monkeypatch.setattr(source, "_SERVICE_SOCKET", online.served.control_socket)
    monkeypatch.setattr(source, "_DEFAULT_SERVER", online.served.server.url)
    assert online.run("get", "web").lines[1].startswith("web ")
    said = online.run("pause", "jobs")
    assert said.code == 1
    assert "the control socket is for operators" in said.err


def test_a_socket_that_cannot_be_looked_at_is_not_taken_for_this_daemons(
    online: ServedScene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """$RUNTIME_DIRECTORY may be closed to the user; `Path.exists` raises there."""
    file = tmp_path / "autoscaler.yaml"
    file.write_text("{}\n")

    def closed(path: Path, **_: object) -> os.stat_result:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(source, "_SERVICE_SOCKET", online.served.control_socket)
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path))
    with monkeypatch.context() as patched:
        patched.setattr(Path, "exists", closed)
        assert source.Where(None, None, file).connect().socket == online.served.control_socket


@pytest.mark.parametrize(("mode", "told"), [(0o2750, True), (0o2700, False)])
def test_a_user_who_may_not_connect_is_told_the_group_of_the_folder(tmp_path: Path, mode: int, told: bool) -> None:
    """Only where the group would let the user in."""
    folder = tmp_path / "control"
    folder.mkdir()
    folder.chmod(mode)
    assert stat.S_IMODE(folder.stat().st_mode) == mode
    assert ("sudo adduser " in server._permission(folder / "control.sock")) is told
