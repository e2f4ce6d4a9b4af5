"""Workers append their output to their pool's log, also while no daemon runs."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.process import logs
from autoscaler.model import TargetRef, TargetState
from tests.adapters.process.conftest import Build
from tests.waiting import until

COUNT = [
    sys.executable,
    "-S",
    "-u",
    "-c",
    "import itertools, os, time\nfor n in itertools.count(): os.write(1, b'%d\\n' % n); time.sleep(0.01)",
]


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


@pytest.mark.parametrize("put", [os.mkfifo, lambda log: log.symlink_to("victim"), Path.mkdir])
def test_a_file_that_is_not_a_log_is_not_written_to(tmp_path: Path, put: Callable[[Path], None]) -> None:
    """Others may write to the folder that `log` names; a pipe without a reader would block the daemon."""
    (tmp_path / "victim").write_text("precious")
    log = tmp_path / "web.log"
    put(log)
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(OSError, match=r"web\.log"):
        logs.open_log(log)
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors
    assert (tmp_path / "victim").read_text() == "precious"


def test_a_pipe_that_is_read_is_not_a_log_either(tmp_path: Path) -> None:
    """Its reader may end, which would end the workers."""
    os.mkfifo(tmp_path / "web.log")
    reader = os.open(tmp_path / "web.log", os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(OSError, match="it is not a regular file"):
        logs.open_log(tmp_path / "web.log")
    os.close(reader)


@pytest.mark.slow
def test_output_is_written_while_no_daemon_runs(build: Build) -> None:
    """Workers outlive the daemon; a pipe that it read would block or end them."""
    harness = build(command=COUNT)
    until(lambda: "3\n" in harness.log(), "its output")
    harness.process.close()
    before = len(harness.log())
    until(lambda: len(harness.log()) > before + 200, "more output")
    assert len(harness.identities()) == 1


@pytest.mark.slow
def test_a_log_that_is_copied_and_truncated_goes_on_at_its_beginning(build: Build) -> None:
    """As logrotate's copytruncate does it: without appending, the file would keep its size, with a hole."""
    harness = build(command=COUNT)
    until(lambda: len(harness.log()) > 500, "its output")
    log = harness.state_dir / "logs" / "web.log"
    assert log.stat().st_mode & 0o777 == 0o600
    os.truncate(log, 0)
    until(lambda: harness.log().endswith("\n"), "more output")
    assert harness.log()[0].isdigit()


@pytest.mark.slow
def test_the_workers_of_a_pool_append_to_the_log_that_it_names(build: Build, tmp_path: Path) -> None:
    """So that it can be on another disk than the state. A pool whose log cannot be written says why; others go on."""
    broken = {"command": "sleep 1000", "log": str(tmp_path / "none/api.log")}
    harness = build(command=COUNT, initialReplicas=2, log=str(tmp_path / "own.log"), others={"api": broken})
    harness.settle(2)
    until(lambda: (tmp_path / "own.log").read_text().splitlines().count("3") == 2, "the output of both workers")
    api = TargetRef("local", "api")
    assert harness.process.examine(api) == (
        f"pool 'api' could not start a worker without its log: the folder {tmp_path / 'none'} does not exist; "
        "create it, writable for the daemon"
    )
    state = harness.adapter.observe([api], harness.call())[api]
    assert isinstance(state, TargetState)
    assert str(tmp_path / "none/api.log") in state.warnings[0]
    assert state.warnings[0].endswith("correct the pool's command, cwd or log")
