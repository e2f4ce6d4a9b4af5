"""Workers' output does not fill the disk, even while no daemon runs."""

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from adapters.process import log_writer, logs
from tests.adapters.process.conftest import Build
from tests.adapters.process.harness import ProcessHarness, poll
from tests.faults.filesystems import require_mounts, run

FLOOD = [
    sys.executable,
    "-S",
    "-c",
    "import os, time\nos.write(1, b'first\\n' + b'x' * 150_000_000 + b'last\\n')\ntime.sleep(1000)",
]
COUNT = [
    sys.executable,
    "-S",
    "-u",
    "-c",
    "import itertools, time\nfor n in itertools.count(): print(n); time.sleep(0.01)",
]


def log_writers(harness: ProcessHarness) -> list[int]:
    """Pids of the processes that write this harness' logs."""
    folder = str(harness.state_dir / "logs").encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:  # it ended meanwhile
            continue
        if folder in words and log_writer.__file__.encode() in words:
            found.append(int(process.name))
    return found


def disk_use(harness: ProcessHarness) -> int:
    total = 0
    for file in (harness.state_dir / "logs").glob("*.log*"):
        try:
            total += file.stat().st_size
        except FileNotFoundError:  # it is being moved
            continue
    return total


def test_the_last_line_is_the_last_that_has_something_in_it(tmp_path: Path) -> None:
    """A program's error often ends with an empty line."""
    log = tmp_path / "web-1.log"
    log.write_bytes(b"Traceback\n  File x\nOSError: no port \xff\n\n  \n")
    assert logs.last_line(log) == "OSError: no port \ufffd"


def test_the_last_line_is_short_and_printable_and_shows_no_password(tmp_path: Path) -> None:
    """A worker may write anything, and terminals and the state show and keep its output."""
    log = tmp_path / "web-1.log"
    log.write_text("cannot reach \x1b[31mhttp://ann:secret@db/ " + "y" * 1000)
    line = logs.last_line(log)
    assert line.isprintable()
    assert line.startswith(r"cannot reach \x1b[31mhttp://db/ yyy")
    assert len(line.encode()) <= 300


@pytest.mark.parametrize("put", [lambda log: None, os.mkfifo, lambda log: log.symlink_to("/etc/hostname"), Path.mkdir])
def test_a_file_that_is_not_a_log_has_no_last_line(tmp_path: Path, put: Callable[[Path], None]) -> None:
    """A worker may replace its log; reading it must not block, follow a link, or keep a descriptor."""
    log = tmp_path / "web-1.log"
    put(log)
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    assert logs.last_line(log) == ""
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors


@pytest.mark.slow
def test_150_mb_in_one_write_never_take_more_than_twice_the_bound(build: Build) -> None:
    """A plain file would grow with it, and a full disk would stop the state."""
    harness = build(command=FLOOD)
    most = 0

    def ended() -> bool:
        nonlocal most
        most = max(most, disk_use(harness))
        return harness.log("web-1").endswith("last\n")

    poll(ended, "all of the output", 60)
    assert log_writer.LOG_BYTES < most <= 2 * log_writer.LOG_BYTES
    assert {file.stat().st_mode & 0o777 for file in (harness.state_dir / "logs").iterdir()} == {0o600}


@pytest.mark.slow
def test_output_is_written_while_no_daemon_runs(build: Build) -> None:
    """Workers outlive the daemon; a pipe that it read would block or end them."""
    harness = build(command=COUNT)
    poll(lambda: "3\n" in harness.log("web-1"), "its output")
    harness.process.close()
    before = len(harness.log("web-1"))
    poll(lambda: len(harness.log("web-1")) > before + 200, "more output")
    assert len(harness.identities()) == 1
    assert len(log_writers(harness)) == 1
    harness.rebuild()
    harness.observe()
    assert len(log_writers(harness)) == 1


@pytest.mark.slow
def test_a_killed_log_writer_is_replaced_and_no_output_is_lost(build: Build) -> None:
    """The worker waits meanwhile, for it holds both ends of its pipe."""
    harness = build(command=COUNT)
    poll(lambda: "3\n" in harness.log("web-1"), "its output")
    (killed,) = log_writers(harness)
    os.kill(killed, signal.SIGKILL)
    poll(lambda: log_writers(harness) not in ([], [killed]), "another log writer")
    before = len(harness.log("web-1"))
    poll(lambda: len(harness.log("web-1")) > before + 100, "more output")
    numbers = [int(line) for line in harness.log("web-1").split("\n")[:-1]]
    assert numbers == list(range(len(numbers)))
    assert len(harness.identities()) == 1


@pytest.mark.slow
def test_the_output_of_a_worker_that_ends_at_once_is_in_its_log(build: Build) -> None:
    """Operators need this output."""
    harness = build(command=["sh", "-c", "echo why it ended; exit 1"])
    poll(lambda: harness.log("web-1") == "why it ended\n", "its last words")


@pytest.mark.slow
def test_the_log_writer_ends_with_the_last_worker_and_leaves_no_pipe(build: Build) -> None:
    """Nothing runs on of a pool that is gone."""
    harness = build(command=COUNT)
    poll(lambda: "3\n" in harness.log("web-1"), "its output")
    harness.finish()
    poll(lambda: not log_writers(harness), "the log writer to end")
    assert not list((harness.state_dir / "logs").glob("*.pipe"))


def test_a_link_in_place_of_a_log_is_not_followed(tmp_path: Path) -> None:
    """Another user may own the workers; the folder of the logs is the daemon's."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "web-1.log").symlink_to(victim)
    number = logs.pipe(folder / "web-1.log")
    os.write(number, b"output")
    logs.LogWriterProcess(folder).close()
    reader = log_writer.LogWriter(folder, 100)
    reader.run()
    assert victim.read_text() == "precious"
    assert (folder / "web-1.log").is_symlink()


def test_a_pipe_is_found_that_comes_within_the_time_of_an_earlier_change(tmp_path: Path) -> None:
    """The kernel counts a folder's changes in ms: without the check, its worker would block after 64 KiB."""
    reader = log_writer.LogWriter(tmp_path, 100)
    changed = tmp_path.stat().st_mtime_ns
    reader._find()
    number = logs.pipe(tmp_path / "web-1.log")
    os.utime(tmp_path, ns=(changed, changed))
    os.write(number, b"output")
    reader._find()
    logs.LogWriterProcess(tmp_path).close()
    assert (tmp_path / "web-1.log").read_text() == "output"
    reader.run()


def test_a_second_log_writer_ends_at_once(tmp_path: Path) -> None:
    """Two would each write half of the output."""
    number = os.open(tmp_path / log_writer.LOCK, os.O_RDWR | os.O_CREAT)
    fcntl.flock(number, fcntl.LOCK_EX)
    os.write(logs.pipe(tmp_path / "web-1.log"), b"output")
    subprocess.run([sys.executable, log_writer.__file__, str(tmp_path), "10"], check=True, timeout=20)
    logs.LogWriterProcess(tmp_path).close()
    os.close(number)
    assert not (tmp_path / "web-1.log").exists()


@contextmanager
def workers_end_once_read(folder: Path, *workers: str) -> Iterator[None]:
    """Close their pipes, which the test holds open, when the log writer has written the output of each."""

    def end() -> None:
        for worker in workers:
            poll((folder / f"{worker}.log").exists, f"output of {worker}")
            logs.LogWriterProcess(folder).close()

    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(end)
        yield
        ended.result()


def test_the_log_writer_ends_as_soon_as_no_pipe_is_left(tmp_path: Path) -> None:
    """It waited for two seconds, and so outlived `make run`."""
    os.write(logs.pipe(tmp_path / "web-1.log"), b"output")
    with workers_end_once_read(tmp_path, "web-1"):
        log_writer.main(tmp_path, 100, unopened_seconds=3600)
    assert (tmp_path / "web-1.log").read_text() == "output"
    assert not (tmp_path / "web-1.pipe").exists()


def test_a_pipe_that_comes_as_the_log_writer_ends_is_drained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The daemon had just found the lock taken and started no other."""
    lock, late = fcntl.flock, ["web-2"]

    def flock(number: int, how: int) -> None:
        if how == fcntl.LOCK_UN and late:
            os.write(logs.pipe(tmp_path / f"{late.pop()}.log"), b"late")
        lock(number, how)

    monkeypatch.setattr("fcntl.flock", flock)
    os.write(logs.pipe(tmp_path / "web-1.log"), b"output")
    with workers_end_once_read(tmp_path, "web-1", "web-2"):
        log_writer.main(tmp_path, 100)
    assert (tmp_path / "web-2.log").read_text() == "late"


def test_the_log_writer_ends_although_a_pipe_cannot_be_removed(tmp_path: Path) -> None:
    """As on a disk that became read-only: here the pipe is a mount point."""
    require_mounts()
    os.write(logs.pipe(tmp_path / "web-1.log"), b"output")
    pipe = str(tmp_path / "web-1.pipe")
    run("mount", "--bind", pipe, pipe)
    try:
        with workers_end_once_read(tmp_path, "web-1"):
            log_writer.main(tmp_path, 100, unopened_seconds=3600)
    finally:
        run("umount", pipe)
    assert (tmp_path / "web-1.log").read_text() == "output"


def test_without_a_pipe_no_log_writer_is_started(tmp_path: Path) -> None:
    """The pool has no workers; a file that is not a pipe does not count, whatever its name."""
    (tmp_path / "notes.pipe").write_text("not a pipe")
    logs.LogWriterProcess(tmp_path).ensure()
    assert not (tmp_path / log_writer.LOCK).exists()


def test_logs_of_the_last_workers_that_are_gone_are_kept(tmp_path: Path) -> None:
    """They show why a worker ended. Older logs are removed, logs of running workers never."""
    for number in range(1, 15):
        log = tmp_path / f"web-{number}.log"
        log.touch()
        (tmp_path / f"web-{number}.log.1").touch()
        os.utime(log, (number, number))
    logs.forget(tmp_path, {"web-1"})
    assert {file.stem for file in tmp_path.glob("*.log")} == {"web-1", *(f"web-{number}" for number in range(5, 15))}
    assert len(list(tmp_path.glob("*.log.1"))) == 11
