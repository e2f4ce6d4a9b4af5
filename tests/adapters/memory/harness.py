"""The contract suite's harness for the reference adapter."""

from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from unittest.mock import patch

from adapters.memory import Memory
from adapters.memory.settings import GroupSettings, MemorySettings
from autoscaler.target import Adapter, Hold, HoldReason, TargetError, TargetRef, TargetState
from autoscaler.target.contract import Harness, make_context

SETTINGS = MemorySettings(groups={"web": GroupSettings(), "fixed": GroupSettings(scalable=False)})


class MemoryHarness(Harness):
    """A folder for each test. `kind` is the adapter under test."""

    patience_seconds = 0
    chooses_victims = True
    target = TargetRef("memory", "web")
    missing = TargetRef("memory", "nobody")
    unscalable: TargetRef | None = TargetRef("memory", "fixed")
    adapter: Memory

    def __init__(self, folder: Path, kind: type[Memory] = Memory) -> None:
        self.kind = kind
        self.folder = folder
        self.rebuild()

    def rebuild(self, *, dry_run: bool = False) -> Adapter:
        self.adapter = self.build(self.folder, dry_run=dry_run)
        return self.adapter

    def build(self, folder: Path, *, dry_run: bool = False) -> Memory:
        return self.kind(make_context(SETTINGS, folder, dry_run=dry_run, clock=self.clock))

    def set_size_outside(self, size: int) -> None:
        name, adapter = self.target.name, self.build(self.folder)
        adapter.groups.write(name, adapter.read(name).resized(name, size, self.clock.now()))

    def hold(self) -> AbstractContextManager[object] | str:
        """A group has no operation of its own: its state gets a hold."""
        reason = HoldReason("Rolling", "the test says so")
        free = self.adapter.state

        def held(target: TargetRef, now: datetime) -> TargetState | TargetError:
            state = free(target, now)
            return state if isinstance(state, TargetError) else replace(state, hold=Hold(reason, reason))

        return patch.object(self.adapter, "state", held)

    def unreachable(self) -> Adapter | str:
        (self.folder / "elsewhere" / "web.json").mkdir(parents=True)
        return self.build(self.folder / "elsewhere")
