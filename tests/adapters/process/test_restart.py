"""Workers outlive the daemon, and the next daemon finds them, whenever it was killed."""

import contextlib
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapters.process.procfs import TOKEN_VARIABLE, Identity, identify, runs
from adapters.process.records import Pool, StateFile, Worker
from autoscaler.errors import TargetNotWritten, TargetUnavailable
from tests.adapters.process.conftest import Build
from tests.waiting import until

pytestmark = pytest.mark.slow


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    """A process outside the pool; it leads its own group, as a worker does."""
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as process:
        yield process
        process.kill()


@contextlib.contextmanager
def _daemon(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that keeps three workers until it is killed."""
    command = [sys.executable, "-m", "tests.adapters.process.daemon", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as daemon:
        try:
            assert daemon.stdout is not None
            assert daemon.stdout.readline() == b"settled\n"
            yield daemon
        finally:
            daemon.kill()


def _record(folder: Path, *workers: Worker, size: int = 1) -> None:
    state_dir = folder / "state"
    state_dir.mkdir()
    StateFile(state_dir).save({"web": Pool(size, revision=7, started=len(workers), workers=workers)})


def _worker(identity: Identity | None, **changes: object) -> Worker:
    worker = Worker("web-1", secrets.token_hex(16), None, datetime(2026, 1, 1, tzinfo=UTC), identity)
    return replace(worker, **changes)  # type: ignore[arg-type]  # a test's few keywords


def test_workers_survive_the_daemons_sigkill(build: Build, tmp_path: Path) -> None:
    """After kill -9 of the daemon, the next daemon finds the same processes and starts none twice."""
    with _daemon(tmp_path) as daemon:
        daemon.kill()
    before = [worker.identity for worker in StateFile(tmp_path / "state").load()["web"].workers]
    harness = build(initialReplicas=3)
    harness.settle(3)
    assert harness.identities() == before
    assert "worker_started" not in harness.logger.events


def test_an_adopted_worker_is_replaced_when_it_dies(build: Build, tmp_path: Path) -> None:
    """It is no longer a child of the daemon; only its identity is known."""
    with _daemon(tmp_path) as daemon:
        daemon.kill()
    harness = build()
    harness.settle(3)
    os.killpg(harness.identities()[0].pid, signal.SIGKILL)
    harness.wait_for(lambda state: "web-4" in {one.name for one in state.instances}, "to replace it")


def test_a_crash_between_start_and_record_loses_no_worker(build: Build, tmp_path: Path) -> None:
    """The worker was recorded first: the process with its token is that worker."""
    worker = _worker(None)
    environment = {**os.environ, TOKEN_VARIABLE: worker.token}
    with subprocess.Popen(["sleep", "1000"], start_new_session=True, env=environment) as process:
        _record(tmp_path, worker)
        harness = build()
        harness.settle(1)
        assert harness.identities() == [identify(process.pid)]
        process.kill()


def test_a_crash_between_record_and_start_counts_no_worker(build: Build, tmp_path: Path) -> None:
    """No process has the token: the worker never ran, and another one is started."""
    _record(tmp_path, _worker(None))
    assert [one.name for one in build().settle(1).instances] == ["web-2"]


def test_a_pid_that_is_another_process_by_now_is_never_signalled(
    build: Build, tmp_path: Path, stranger: subprocess.Popen[bytes]
) -> None:
    """Pids are reused: only pid, start time and boot identify a worker."""
    own = identify(stranger.pid)
    assert own is not None
    others = [replace(own, start_ticks=own.start_ticks - 1), replace(own, boot_id="another")]
    workers = [_worker(other, name=f"web-{number}", stopping=number == 1) for number, other in enumerate(others, 1)]
    _record(tmp_path, *workers, size=0)
    build(gracePeriod="0s").settle(0)
    assert runs(own)


def test_a_stop_that_was_cut_short_is_finished(build: Build, tmp_path: Path) -> None:
    """The decision to stop a worker is durable."""
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as process:
        _record(tmp_path, _worker(identify(process.pid), stopping=True), size=0)
        build().settle(0)
        assert not Path(f"/proc/{process.pid}").exists()
        process.returncode = 0  # the keeper has reaped it


def test_a_second_daemon_learns_which_daemon_keeps_the_pools(build: Build, tmp_path: Path) -> None:
    """Two keepers of one folder would start everything twice."""
    with _daemon(tmp_path) as daemon:
        second = build()
        with pytest.raises(
            TargetUnavailable, match=f"another daemon manages its workers already \\(pid {daemon.pid}\\)"
        ):
            second.adapter.observe([second.target], second.call())
        until(lambda: "pools_not_kept" in second.logger.events, "the log to say so too")
        daemon.kill()
    second.settle(3)


def test_a_reload_hands_over_without_an_error(build: Build) -> None:
    """The new connection is built before the old one is closed, and waits for it."""
    old = build(initialReplicas=2)
    before = old.settle(2)
    new = build()
    with pytest.raises(TargetUnavailable, match="has not released it yet"):
        new.adapter.observe([new.target], new.call())
    until(lambda: new.logger.lines, "the new keeper's first attempt")
    old.process.close()
    assert new.observe() == before
    assert not [line for line in new.logger.lines if line[0] == "error"]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pools": {"web": {}}}', '{"pools": {"web": {"workers": [{}]}}}'])
def test_a_damaged_state_file_starts_nothing(build: Build, tmp_path: Path, content: str) -> None:
    """If it counted as empty, its workers would be started a second time."""
    (tmp_path / "state").mkdir()
    (tmp_path / "state/workers.json").write_text(content)
    harness = build()
    with pytest.raises(TargetUnavailable, match=r"workers\.json is damaged .*restore it"):
        harness.adapter.observe([harness.target], harness.call())
    (tmp_path / "state/workers.json").unlink()
    harness.settle(1)


def test_a_state_folder_that_cannot_be_written_changes_no_size(build: Build) -> None:
    """A size that would be forgotten is refused; later writes succeed."""
    harness = build()
    state = harness.settle(1)
    records, aside = harness.state_dir / "workers.json", harness.state_dir / "aside"
    records.rename(aside)
    records.mkdir()
    with pytest.raises(TargetNotWritten, match=r"workers\.json: Is a directory"):
        harness.adapter.scale(harness.target, harness.change(state, 2), harness.call())
    records.rmdir()
    aside.rename(records)
    assert harness.observe() == state
    harness.set_size_outside(2)
    harness.settle(2)


def test_workers_of_a_pool_that_is_no_longer_configured_are_named_and_keep_running(
    build: Build, tmp_path: Path, stranger: subprocess.Popen[bytes]
) -> None:
    """A mistake in the configuration must not end a production pool."""
    identity = identify(stranger.pid)
    state_dir = tmp_path / "state"
    state_dir.mkdir()
    StateFile(state_dir).save({"old": Pool(1, workers=(_worker(identity, name="old-1"),))})
    harness = build()
    harness.settle(1)
    (line,) = harness.logger.of("pool_not_configured")
    assert (line["pool"], line["workers"]) == ("old", ["old-1"])
    assert stranger.poll() is None


def test_records_come_back_as_they_were_written(tmp_path: Path) -> None:
    """The file keeps every field of a worker."""
    worker = _worker(
        Identity(1, 2, "boot"),
        port=8080,
        stopping=True,
        released=True,
        ready=False,
        ready_since=datetime(2026, 1, 2, tzinfo=UTC),
        probed="HTTP 404",
    )
    pools = {"web": Pool(3, 4, 5, (worker,))}
    StateFile(tmp_path).save(pools)
    assert StateFile(tmp_path).load() == pools
    assert len(asdict(worker)) == 10


def test_a_file_where_the_logs_should_be_is_unavailable(build: Build, tmp_path: Path) -> None:
    """A wrong folder causes a message, not a traceback."""
    (tmp_path / "state").mkdir()
    (tmp_path / "state/logs").touch()
    harness = build()
    with pytest.raises(TargetUnavailable, match=r"File exists: .*logs"):
        harness.adapter.observe([harness.target], harness.call())


def test_a_state_folder_that_cannot_be_locked_is_unavailable(build: Build, tmp_path: Path) -> None:
    """Without the lock nothing is started: another daemon may keep the workers."""
    (tmp_path / "state/lock").mkdir(parents=True)
    harness = build()
    with pytest.raises(TargetUnavailable, match=r"lock: Is a directory; make the folder writable"):
        harness.adapter.observe([harness.target], harness.call())
