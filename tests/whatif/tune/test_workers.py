"""Candidates evaluated in processes."""

import os
import signal
import subprocess
import sys
import time
from multiprocessing import active_children
from pathlib import Path

import pytest

from autoscaler.errors import AutoscalerError
from autoscaler.whatif.replay.demand import demand_over
from autoscaler.whatif.tune.choices import Choices
from autoscaler.whatif.tune.tuning import Evaluator, Setup, conserved_part, split
from autoscaler.whatif.tune.workers import Workers, available_memory
from tests.whatif.tune.test_tuning import WEB, waves

pytestmark = pytest.mark.slow
MOMENTS = waves(cycles=130)
SETUP = Setup(WEB, frozenset(), split(demand_over(WEB, MOMENTS), "web"), None)
START = Choices(WEB).space.start
POINTS = [START, (0, *START[1:]), (8, *START[1:]), (*START[:-1], 2), (4, 1, 2, 0, 3, 1, 1)]


def ready(workers: Workers) -> Workers:
    """They have the past, and know what will be asked."""
    for place, each in enumerate(MOMENTS):
        workers.add(conserved_part(each, first=place == 0))
    workers.begin(SETUP)
    return workers


@pytest.mark.parametrize("count", [1, 2])
def test_a_process_says_what_this_one_would(count: int) -> None:
    """In the order of what was asked."""
    own = Evaluator(SETUP, MOMENTS)
    with Workers(count) as workers:
        ready(workers)
        assert list(workers.scores(POINTS)) == [own.score(point) for point in POINTS]
        assert workers.whole(POINTS[:2]) == [own.whole(point) for point in POINTS[:2]]


def begun(workers: Workers) -> list[int]:
    """The pids of processes that have answered."""
    list(ready(workers).scores(POINTS))
    return [each.pid for each in active_children() if each.pid is not None]


def test_processes_end_with_the_block() -> None:
    """None is left behind."""
    with Workers(2) as workers:
        pids = begun(workers)
        assert len(pids) == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


PARENT = """
import time
from tests.whatif.tune.test_workers import Workers, begun
if __name__ == "__main__":
    with Workers(1) as workers:
        print(*begun(workers), flush=True)
        time.sleep(600)
"""


def test_a_process_ends_with_its_parent(tmp_path: Path) -> None:
    """A parent that is killed cannot end it."""
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=environment) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    while ended(pid) is None:
        time.sleep(0.01)


def ended(pid: int) -> str | None:
    """None: it still runs. One that nobody has waited for yet has ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "gone"
    return state if state == "Z" else None


def test_a_module_in_the_working_directory_is_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command may be called in a folder that another user writes."""
    (tmp_path / "signal.py").write_text("raise SystemExit('from here')")
    monkeypatch.chdir(tmp_path)
    with Workers(1) as workers:
        assert len(begun(workers)) == 1


def test_a_process_that_is_killed_is_an_error_that_says_what_to_do() -> None:
    """By the kernel, when memory runs out."""
    with Workers(1) as workers:
        (pid,) = begun(workers)
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(AutoscalerError, match=r"ended.*; if memory ran out, shorten --since"):
            list(workers.scores(POINTS))


def test_too_large_a_past_is_refused() -> None:
    """While it is handed over, before it fills the memory."""
    with Workers(1, most_bytes=1000) as workers, pytest.raises(AutoscalerError, match="shorten it with --since"):
        ready(workers)


def test_where_memory_is_short_there_are_fewer_processes() -> None:
    """At least one."""
    with Workers(3, room=1) as workers:
        ready(workers)
        assert workers.count == 1
        assert list(workers.scores(POINTS[:1])) == [Evaluator(SETUP, MOMENTS).score(START)]


def test_what_is_available_is_known() -> None:
    """In bytes."""
    assert available_memory() > 2**20
