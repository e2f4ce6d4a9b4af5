"""How tests run in parallel (`pytest -n`): which stay together, which go first, and the processes of a dead worker.

A file's tests run in one worker, one after another, so that what its fixtures start is started once.
"""

import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, SupportsIndex

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from tests.processes import signal_all, started_with

TOGETHER: Final[Mapping[str, tuple[str, ...]]] = {
    "docker": (  # one engine for each machine: another would wait for its end
        "tests/adapters/docker_swarm/",
        "tests/cli/test_write_test.py",
        "tests/packaging/test_image.py",
        "tests/packaging/test_stack_page.py",
        "tests/quickstart/test_docker_swarm.py",
    ),
    "demo": ("tests/demo/",),  # two demos at once would choose the same ports
    "nomad": ("tests/adapters/nomad/",),  # the files of the following folders share what their conftest starts
    "aws": ("tests/adapters/aws_asg/", "tests/adapters/aws_ecs/"),
    "browser": ("tests/browser/",),
    "systemd": ("tests/systemd/test_booted.py", "tests/systemd/test_control_socket.py"),
}
"""A resource that exists once -> the tests that use it."""

SLOWEST_FIRST: Final = (
    "demo",
    "nomad",
    "browser",
    "docker",
    "aws",
    "tests/packaging/test_debian_package.py",
    "tests/hostile/test_requests.py",
    "systemd",
    "tests/quickstart/test_nomad.py",
    "tests/quickstart/test_aws.py",
    "tests/quickstart/test_process.py",
    "tests/web/test_openapi.py",
    "tests/e2e/test_drain.py",
    "tests/packaging/test_install.py",
)
"""The units that take longest, the longest first. Otherwise one of them would run alone at the end."""

_ENDED_WITHIN_SECONDS: Final = 30.0


def unit(nodeid: str) -> str:
    """Return the name of a unit, which runs in one worker: a file, or a name in `TOGETHER`."""
    for name, places in TOGETHER.items():
        if nodeid.startswith(places):
            return name
    return nodeid.partition("::")[0]


def longest_first(items: list[pytest.Item]) -> None:
    """Sort: the longest units, then those with a slow test, then the rest; each unit's tests follow one another."""
    slow = {unit(item.nodeid) for item in items if item.get_closest_marker("slow")}

    def rank(item: pytest.Item) -> tuple[int, str]:
        name = unit(item.nodeid)
        place = SLOWEST_FIRST.index(name) if name in SLOWEST_FIRST else len(SLOWEST_FIRST) + (name not in slow)
        return place, name

    items.sort(key=rank)


class _Places(list[str]):
    """The tests of a worker. Where one stands is looked up for each test, and a search takes longer than the test."""

    def __init__(self, nodeids: Sequence[str]) -> None:
        super().__init__(nodeids)
        self._places = {nodeid: place for place, nodeid in enumerate(nodeids)}

    def index(self, nodeid: str, *_: SupportsIndex) -> int:
        return self._places[nodeid]


class Units(LoadScopeScheduling):  # type: ignore[misc]  # pytest-xdist ships no types
    """Gives each worker one unit at a time, in the order of the tests."""

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False  # otherwise the units with the most tests come first, which are quick

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        """Take a worker's tests."""
        super().add_node_collection(node, collection)
        if node in self.registered_collections:
            self.registered_collections[node] = _Places(collection)

    def remove_node(self, node: WorkerController) -> str | None:
        """Return the test at which the worker died, if any; it is not run again, the rest of its unit is."""
        work: dict[str, dict[str, bool]] = self.assigned_work[node]
        died_at = next((nodeid for tests in work.values() for nodeid, done in tests.items() if not done), None)
        if died_at is not None:
            work[unit(died_at)][died_at] = True
        for name in [name for name, tests in work.items() if all(tests.values())]:
            del work[name]  # an empty unit would never be finished
        super().remove_node(node)
        return died_at

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)


def end_processes_of(worker: str, run: str) -> list[str]:
    """End the processes that a dead worker has started, and return their command lines.

    Their environment contains the variables of pytest-xdist.
    """
    marks = {"PYTEST_XDIST_WORKER": worker, "PYTEST_XDIST_TESTRUNUID": run}
    found = {pid: _command(pid) for pid in started_with(**marks)}
    signal_all(found, signal.SIGTERM)
    end = time.monotonic() + _ENDED_WITHIN_SECONDS
    while (left := started_with(**marks)) and time.monotonic() < end:
        time.sleep(0.1)
    signal_all(left, signal.SIGKILL)
    return sorted(found.values())


def _command(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").strip()
    return f"process {pid}"
