import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from demo.stage import ROOT
from tests.processes import processes
from tests.waiting import until
from tools.prometheus import prometheus_binaries

pytestmark = pytest.mark.slow


@contextmanager
def running(folder: Path, *arguments: str, clone: Path = ROOT) -> Iterator[subprocess.Popen[str]]:
    """Run `python -m demo` in a clone with a temporary folder; end it with the block."""
    path = f"{prometheus_binaries().prometheus.parent}:{os.environ['PATH']}"
    process = subprocess.Popen(
        [sys.executable, "-m", "demo", *arguments],
        cwd=clone,
        env={**os.environ, "TMPDIR": str(folder), "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.terminate()


def left_behind(folder: Path) -> list[bytes]:
    """Return the command lines and variables of processes that were started for a demo in `folder`."""
    return [b" ".join(told) for _, told in processes() if any(str(folder).encode() in each for each in told)]


def read_until(process: subprocess.Popen[str], pattern: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if re.search(pattern, line):
            return
    raise AssertionError(f"the demo ended before it said {pattern!r}")


@pytest.fixture
def temporary() -> Iterator[Path]:
    """The demo's temporary folder. A test's own path is too long for the control socket in it."""
    with TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A copy of the demo's files, so that changes of the tree do not matter."""
    for name in ("demo", "tools", "config"):
        shutil.copytree(ROOT / name, tmp_path / "clone" / name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "clone"


def files(folder: Path) -> set[Path]:
    return {file for file in folder.rglob("*") if "__pycache__" not in file.parts}


def nothing_is_left(folder: Path) -> None:
    """Wait until no process is left: the writer of the workers' logs ends with the last worker."""
    until(lambda: not left_behind(folder), lambda: f"the end of {left_behind(folder)}")


def test_a_demo_of_two_minutes_scales_out_and_in(temporary: Path, clone: Path) -> None:
    """Newcomers try `make run DEMO_SECONDS=120` first. It must leave nothing behind."""
    before = files(clone)
    with running(temporary, "--seconds", "120", clone=clone) as process:
        said, _ = process.communicate(timeout=800)
    assert process.returncode == 0, said
    assert re.search(r"^Sizes over time: +1 → .*[4-8].* → 1$", said, re.MULTILINE), said
    assert "It scaled out and back in to one worker." in said
    assert list(temporary.iterdir()) == []
    nothing_is_left(temporary)
    assert files(clone) == before


def test_a_demo_that_ends_too_early_says_so_and_fails(temporary: Path) -> None:
    """Exit code 0 means that it scaled out and in."""
    with running(temporary, "--seconds", "4") as process:
        said, _ = process.communicate(timeout=800)
    assert process.returncode == 1, said
    assert "did not scale out and back in" in said


def test_a_demo_that_is_stopped_with_ctrl_c_leaves_nothing_behind(temporary: Path) -> None:
    """No worker, no Prometheus and no folder remain."""
    with running(temporary) as process:
        read_until(process, r"-> [2-8]$")
        assert left_behind(temporary)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=300)
        assert process.returncode == 0, said
    nothing_is_left(temporary)
    assert list(temporary.iterdir()) == []
    assert "the temporary folder is gone" in said
