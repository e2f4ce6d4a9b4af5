"""One daemon at a time runs the workers of a targets file."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from autoscaler.errors import TargetNotWritten, TargetUnavailable
from autoscaler.model import ScaleChange, TargetRef, TargetState
from tests.adapters.process.conftest import Build
from tests.adapters.process.harness import ProcessHarness
from tests.servers.ports import free_ports
from tests.waiting import until

pytestmark = pytest.mark.slow
_HOLDER = (
    "import fcntl, os, sys, time; file = open(sys.argv[1], 'w'); fcntl.flock(file, fcntl.LOCK_EX);"
    "file.write(str(os.getpid())); file.flush(); print('held', flush=True); time.sleep(1000)"
)


def _written(file: Path) -> str:
    return file.read_text() if file.is_file() else ""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "web.json"


@pytest.fixture
def harness(build: Build, file: Path) -> ProcessHarness:
    """A pool whose file is there."""
    harness = build(ports=free_ports(2), targetsFile=str(file))
    until(lambda: "web-1" in _written(file), "the first worker")
    return harness


def _overwrite(file: Path) -> None:
    file.write_text("[]\n")


def _lengthen(file: Path) -> None:
    file.write_text(file.read_text() + "x" * 100_000)


def _close(file: Path) -> None:
    file.chmod(0o600)


def _replace_by_a_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def _replace_by_a_dead_link(file: Path) -> None:
    file.unlink()
    file.symlink_to("nowhere")


@pytest.mark.parametrize(
    "damage", [_overwrite, _lengthen, _close, _replace_by_a_pipe, _replace_by_a_dead_link, Path.unlink]
)
def test_a_file_that_another_program_changed_is_written_again(
    harness: ProcessHarness, file: Path, damage: Callable[[Path], None]
) -> None:
    """Prometheus would scrape wrong addresses until the next change of size."""
    good = _written(file)
    damage(file)
    until(lambda: _written(file) == good and file.stat().st_mode & 0o777 == 0o644, "the file to be right again")
    assert harness.observe().warnings == ()


def test_a_folder_in_its_place_is_told_until_it_is_gone(harness: ProcessHarness, file: Path) -> None:
    """The adapter does not remove a folder of the operator's."""
    good = _written(file)
    file.unlink()
    file.mkdir()
    state = harness.wait_for(lambda state: bool(state.warnings), "to warn")
    assert "Is a directory; correct targetsFile" in state.warnings[0]
    file.rmdir()
    until(lambda: _written(file) == good, "the file to be back")


def test_a_second_daemon_starts_no_worker_and_names_the_first(build: Build, file: Path, tmp_path: Path) -> None:
    """Each would keep the pool at its size, and the file would show the workers of the last that wrote."""
    with _holder(file) as first:
        harness = build(
            ports=free_ports(2), targetsFile=str(file), others={"api": {"command": "sleep 1000"}}, initialReplicas=2
        )
        api = TargetRef("local", "api")
        until(lambda: _is_kept(harness, api), "the neighbour's worker")
        answer = harness.adapter.observe([harness.target], harness.call())[harness.target]
        assert isinstance(answer, TargetUnavailable)
        assert str(answer) == (
            f"local/web: pool web: another daemon (pid {first.pid}) runs the workers of targetsFile {file}, so this "
            "one starts none; stop that daemon and end its workers, or give this pool another targetsFile and other "
            "ports"
        )
        with pytest.raises(TargetNotWritten, match=rf"pid {first.pid}"):
            harness.adapter.scale(harness.target, ScaleChange("a", 1, 2, None, ""), harness.call())
        assert harness.workers() == ()
        assert not file.exists()
        errors = [keys["error"] for level, _, keys in harness.logger.lines if level == "error"]
        assert len(errors) == 1
    harness.settle(2)
    until(lambda: "web-2" in _written(file), "the file of the daemon that goes on")


def test_a_dry_run_beside_a_daemon_needs_no_lock(build: Build, file: Path) -> None:
    """It starts nothing and writes nothing."""
    with _holder(file):
        harness = build(ports=free_ports(2), targetsFile=str(file), dry_run=True)
        assert harness.observe().replicas == 1


def test_a_reload_takes_the_file_over(harness: ProcessHarness, file: Path) -> None:
    """The next connection of the same daemon goes on with the workers."""
    before = harness.settle(1)
    harness.rebuild()
    assert harness.observe() == before
    _overwrite(file)
    until(lambda: "web-1" in _written(file), "the new connection to write")


def test_the_lock_says_who_holds_it_and_comes_back(harness: ProcessHarness, file: Path) -> None:
    """A removed lock would let a second daemon in: a service's folder is made anew when the service starts."""
    lock = file.with_name(".web.json.lock")
    until(lambda: lock.read_text() == str(os.getpid()), "the pid")
    lock.unlink()
    until(lambda: lock.exists() and lock.read_text() == str(os.getpid()), "the lock to be back")


def test_a_lock_that_cannot_be_taken_is_told(build: Build, file: Path) -> None:
    """Without it, a second daemon would start the workers again."""
    lock = file.with_name(".web.json.lock")
    lock.mkdir()
    harness = build(ports=free_ports(1), targetsFile=str(file))
    state = harness.wait_for(lambda state: bool(state.warnings), "to warn")
    assert f"Is a directory; remove {lock}, its lock, or make" in state.warnings[0]
    lock.rmdir()
    until(lambda: "web-1" in _written(file), "the file")


def test_two_connections_of_one_daemon_do_not_share_a_file(build: Build, file: Path, tmp_path: Path) -> None:
    """The file would hold the workers of one of them."""
    build(ports=free_ports(1), targetsFile=str(file)).settle(1)
    other = ProcessHarness(tmp_path / "other", ports=free_ports(1), targetsFile=str(file))
    try:
        answer = other.adapter.observe([other.target], other.call())[other.target]
        assert re.search(r"still belongs to another connection of this daemon.*targetsFile of its own", str(answer))
    finally:
        other.finish()


def _is_kept(harness: ProcessHarness, target: TargetRef) -> bool:
    state = harness.adapter.observe([target], harness.call())[target]
    return isinstance(state, TargetState) and len(state.instances) == 1


@contextmanager
def _holder(file: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that holds the file, as a daemon does."""
    command = [sys.executable, "-S", "-c", _HOLDER, str(file.with_name(f".{file.name}.lock"))]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        try:
            yield process
        finally:
            process.kill()
