"""A third party's adapter whose targets live in its memory, installed for one daemon.

`python -m bench.fleet.adapter GROUPS INSTANCES` prints what its own states take, in MiB, of a process that has nothing
else.
"""

import math
import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Final

from autoscaler import memory
from autoscaler.model import Call, TargetRef
from bench.fleet.series import group_name
from bench.processes import resident_mebibytes

_CODE: Final = '''
import threading
from typing import ClassVar

from autoscaler.target import AdapterSettings, Conflict, Instance, Phase, TargetState, Unchanged, Written


class Settings(AdapterSettings):
    """Settings of the groups, which are all equal."""

    initial_replicas: int = 1
    hangs: str = ""
    """The name of a target whose observation never returns."""


class Fleet:
    Settings: ClassVar = Settings

    def __init__(self, context):
        self._initial = context.settings.initial_replicas
        self._hangs = context.settings.hangs
        self._states = {}

    def observe(self, targets, call):
        if self._hangs in [target.name for target in targets]:
            threading.Event().wait()
        return {target: self._state(target, call) for target in targets}

    def _state(self, target, call):
        state = self._states.get(target)
        if state is None:
            state = self._states[target] = self._sized(target, self._initial, call)
        return state

    def _sized(self, target, size, call):
        before = {each.name: each for each in self._states[target].instances} if target in self._states else {}
        instances = []
        for number in range(size):
            name = f"{target.name}-{number}"
            instances.append(before.get(name) or Instance(name, Phase.RUNNING, ready=True, ready_transition=call.now,
                             started_at=call.now, identities=frozenset({name})))
        return TargetState(size, size, tuple(instances))

    def scale(self, target, change, call):
        state = self._state(target, call)
        if change.decided_from != state.replicas:
            return Conflict("its size has changed")
        if change.size == state.replicas:
            return Unchanged()
        self._states[target] = self._sized(target, change.size, call)
        return Written(change.size)
'''


def install(folder: Path) -> dict[str, str]:
    """Install the adapter type `fleet` in `folder`; return the environment with which a daemon finds it."""
    site = folder / "site"
    info = site / "fleet_adapter-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "fleet_adapter.py").write_text(_CODE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fleet-adapter\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[autoscaler.adapters]\nfleet = fleet_adapter:Fleet\n")
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH"))))}


def own_mebibytes(groups: int, instances: int) -> float:
    """Return the MiB that the adapter's states take of a daemon's memory."""
    command = [sys.executable, "-m", "bench.fleet.adapter", str(groups), str(instances)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    """Print the memory of the states."""
    groups, instances = map(int, sys.argv[1:])
    targets = [TargetRef("fleet", group_name(number)) for number in range(groups)]
    with tempfile.TemporaryDirectory(prefix="bench-fleet-adapter-") as folder:
        install(Path(folder))
        sys.path.insert(0, str(Path(folder) / "site"))
        settings = SimpleNamespace(initial_replicas=instances, hangs="")
        adapter = import_module("fleet_adapter").Fleet(SimpleNamespace(settings=settings))
    before = resident_mebibytes(os.getpid())
    adapter.observe(targets, Call(datetime.now(UTC), math.inf))
    memory.trim()
    sys.stdout.write(f"{resident_mebibytes(os.getpid()) - before:.0f}\n")


if __name__ == "__main__":
    main()
