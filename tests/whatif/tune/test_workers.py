"""Combinations evaluated in processes."""

import os
import signal
import subprocess
import sys
import time
from multiprocessing import active_children
from pathlib import Path

import pytest

from autoscaler.errors import AutoscalerError
from autoscaler.whatif.replay.replay import Candidate
from autoscaler.whatif.tune.choices import Choices
from autoscaler.whatif.tune.tuning import Evaluator, Setup, conserved_part, split
from autoscaler.whatif.tune.workers import Workers, available_memory
from tests.whatif.courses import demand_over
from tests.whatif.tune.test_tuning import WEB, waves

pytestmark = pytest.mark.slow
PAST = waves(cycles=130)
SETUP = Setup(Candidate("web", WEB), frozenset(), split(demand_over(WEB, PAST), "web"))
START = Choices(WEB).space.start
POINTS = [START, (0, *START[1:]), (8, *START[1:]), (*START[:-1], 2), (4, 1, 2, 0, 3, 1, 1)]


def ready(workers: Workers) -> Workers:
    """Workers that have the past and are started."""
    for place, each in enumerate(PAST):
        workers.add(conserved_part(each, first=place == 0))
    workers.begin(SETUP)
    return workers


@pytest.mark.parametrize("count", [1, 2])
def test_a_process_gives_the_same_answers_in_order(count: int) -> None:
    own = Evaluator(SETUP, PAST)
    with Workers(count) as workers:
        ready(workers)
        assert list(workers.scores(POINTS)) == [own.score(point) for point in POINTS]
        assert workers.evaluations(POINTS[:2]) == [own.evaluate(point) for point in POINTS[:2]]


def begun(workers: Workers) -> list[int]:
    """Start them; the pids of those that have answered."""
    list(ready(workers).scores(POINTS))
    return [each.pid for each in active_children() if each.pid is not None]


def test_processes_end_with_the_block() -> None:
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


def test_a_process_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
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
    """None while it runs. A zombie has ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "gone"
    return state if state == "Z" else None


def test_a_killed_process_is_an_error_that_says_what_to_do() -> None:
    """The kernel kills it when memory runs out."""
    with Workers(1) as workers:
        (pid,) = begun(workers)
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(AutoscalerError, match=r"ended.*; if memory ran out, shorten --since"):
            list(workers.scores(POINTS))


def test_too_large_a_past_is_refused() -> None:
    """Before it fills the memory."""
    with Workers(1, most_bytes=-1) as workers, pytest.raises(AutoscalerError, match="shorten it with --since"):
        ready(workers)


def test_with_little_memory_there_are_fewer_processes() -> None:
    """At least one."""
    with Workers(3, room=1) as workers:
        ready(workers)
        assert workers.count == 1
        assert list(workers.scores(POINTS[:1])) == [Evaluator(SETUP, PAST).score(START)]


def test_the_available_memory_is_in_bytes() -> None:
    assert available_memory() > 2**20
