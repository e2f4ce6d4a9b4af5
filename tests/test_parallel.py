"""Parallel tests lose no test and leave no process running."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.parallel import SLOWEST_FIRST, TOGETHER, unit
from tests.processes import processes

ROOT = Path(__file__).parents[1]
DIES = """
import os, signal, subprocess

def test_dies():
    subprocess.Popen(["sleep", "3600.75"], start_new_session=True)
    os.kill(os.getpid(), signal.SIGKILL)

def test_after_it():
    pass
"""


def test_a_file_is_a_unit_unless_its_server_is_shared() -> None:
    """Two Docker suites in parallel would block a worker."""
    assert unit("tests/rules/test_idle.py::test_one[a::b]") == "tests/rules/test_idle.py"
    assert unit("tests/adapters/docker_swarm/test_traps.py::test_one") == unit(
        "tests/quickstart/test_docker_swarm.py::test"
    )


def test_the_tests_that_the_tables_name_exist() -> None:
    places = [place for places in TOGETHER.values() for place in places]
    places += [name for name in SLOWEST_FIRST if name not in TOGETHER]
    assert [place for place in places if not (ROOT / place).exists()] == []


@pytest.mark.slow
def test_a_worker_that_dies_fails_one_test_and_leaves_nothing_running(tmp_path: Path) -> None:
    """The other tests run, and the server that it had started is ended."""
    (tmp_path / "test_dies.py").write_text(DIES)
    (tmp_path / "test_lives.py").write_text("def test_lives():\n    pass\n")
    words = ("-m", "pytest", "-n", "2", "-p", "tests.conftest", "-p", "no:cacheprovider", f"--rootdir={tmp_path}")
    done = subprocess.run(
        [sys.executable, *words, str(tmp_path)], cwd=ROOT, check=False, capture_output=True, text=True, timeout=600
    )
    assert "1 failed, 2 passed" in done.stdout.splitlines()[-1], done.stdout + done.stderr
    assert "died and left this running, which is ended now: sleep 3600.75" in done.stdout
    assert not any({b"sleep", b"3600.75"} <= told for _, told in processes())
