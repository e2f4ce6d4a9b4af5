"""The disk of the state is full, read-only or hangs. Nothing is scaled that cannot be remembered.

Each disk is a file system of its own. The workers are real, and do not need it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.daemon.running import RunningDaemon, autoscaler, run_once, running_daemon, workers, write_config
from tests.daemon.state import assert_unbroken, records
from tests.servers.filesystems import filled, in_memory, require_mounts, run

pytestmark = pytest.mark.slow

_BYTES = 48 * 2**20


@pytest.fixture(autouse=True)
def _mounts() -> None:
    require_mounts()


@pytest.fixture
def state(folder: Path) -> Iterator[Path]:
    """The state's folder, which is an ext4 file system in a file."""
    image, mounted = folder / "disk", folder / "state"
    with image.open("wb") as file:
        file.truncate(_BYTES)
    run("mkfs.ext4", "-q", str(image))
    mounted.mkdir(mode=0o700)
    run("mount", "-o", "loop,errors=remount-ro", str(image), str(mounted))
    yield mounted
    run("umount", "--lazy", str(mounted))


@contextmanager
def settled(folder: Path, prometheus: str) -> Iterator[RunningDaemon]:
    """Run a daemon whose target has three workers."""
    with running_daemon(wants(folder, prometheus, 3)) as daemon:
        daemon.wait_for("decision", autoscaler="web", written=3)
        daemon.wait_for("decision", autoscaler="web", current=3)
        yield daemon


def wants(folder: Path, prometheus: str, size: int) -> Path:
    """Write a configuration whose load asks for this size."""
    return write_config(folder, prometheus, [autoscaler("web", f"vector({size})")])


def refused(daemon: RunningDaemon, folder: Path, prometheus: str) -> str:
    """Ask for five workers. Assert that cycles fail and none is started. Return the last failure."""
    wants(folder, prometheus, 5)
    daemon.reload()
    error: str = daemon.wait_for("cycle_failed", count=len(daemon.events("cycle_failed")) + 3)["error"]
    assert len(workers(folder)) == 3
    return error


def follows(daemon: RunningDaemon, folder: Path) -> None:
    """Assert that the daemon recovers by itself, and that every decision follows from the one before."""
    daemon.wait_for("decision", autoscaler="web", current=5)
    assert len(workers(folder)) == 5
    assert daemon.stop() == 0
    assert_unbroken(records(folder, "web"))


def test_a_full_disk_stops_scaling_until_space_is_free(folder: Path, prometheus: str) -> None:
    with in_memory(folder / "state", _BYTES), settled(folder, prometheus) as daemon:
        with filled(folder / "state"):
            assert "the disk is full; free some space" in refused(daemon, folder, prometheus)
        follows(daemon, folder)


def test_a_read_only_disk_stops_scaling_and_a_start(folder: Path, state: Path, prometheus: str) -> None:
    """As the kernel makes it after an error (ext4(5), `abort`)."""
    with settled(folder, prometheus) as daemon:
        run("mount", "-o", "remount,abort", str(state))
        error = refused(daemon, folder, prometheus)
        assert "read-only" in error or "check the system's log" in error
        daemon.process.kill()
    done = run_once(daemon.config)
    assert done.returncode == 1
    assert "Read-only file system; name a folder that this user may write to" in done.stderr
    assert len(workers(folder)) == 3


def test_a_disk_that_hangs_ends_no_cycle(folder: Path, state: Path, prometheus: str) -> None:
    """The file system is frozen, so that writes wait as for absent storage."""
    with settled(folder, prometheus) as daemon:
        run("fsfreeze", "--freeze", str(state))
        try:
            wants(folder, prometheus, 5)
            daemon.wait_for("shard_hung", adapter="local")
            decided = len(daemon.events("decision"))
            daemon.wait_for("tick_missed", len(daemon.events("tick_missed")) + 3)
            assert (len(daemon.events("decision")), len(workers(folder))) == (decided, 3)
        finally:
            run("fsfreeze", "--unfreeze", str(state))
        daemon.reload()
        daemon.wait_for("shard_recovered", adapter="local")
        follows(daemon, folder)
