"""The adapter behind real programs: the example of 40 lines of shell, and scripts of tests."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from adapters.command import CommandAdapter
from adapters.command.settings import CommandSettings
from autoscaler.clock import SystemClock
from autoscaler.model import Call, ScaleChange, TargetRef, TargetState
from autoscaler.target import Adapter
from autoscaler.target.contract import Harness, make_context
from tests.servers.required import require

ROOT: Final = Path(__file__).resolve().parents[3]
EXAMPLES: Final = ROOT / "config" / "examples" / "command"
WEB, SHOP = TargetRef("test", "web"), TargetRef("test", "shop")


def need_jq() -> None:
    """Skip the test where there is no jq, which the program of shell needs."""
    if shutil.which("jq") is None:
        require("there is no jq; apt-get install jq")


def script(folder: Path, text: str, name: str = "program") -> str:
    """Return the path of an executable script of `sh`."""
    file = folder / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return str(file)


def build(
    observe: tuple[str, ...], scale: tuple[str, ...], folder: Path, env: Mapping[str, str] | None = None
) -> CommandAdapter:
    return CommandAdapter(make_context(CommandSettings(observe=observe, scale=scale, env=env or {}), folder / "state"))


def call(seconds: float = 10) -> Call:
    clock = SystemClock()
    return Call(clock.now(), clock.monotonic() + seconds)


def change(state: TargetState, size: int) -> ScaleChange:
    return ScaleChange("1", size, state.replicas, state.revision, "the test says so")


class GroupsHarness(Harness):
    """A folder of groups for each test."""

    chooses_victims = True
    target = WEB
    missing = TargetRef("test", "nobody")
    unscalable: TargetRef | None = TargetRef("test", "fixed")

    def __init__(self, folder: Path) -> None:
        need_jq()
        self.folder = folder
        self.groups = folder / "groups"
        (self.groups / "fixed").mkdir(parents=True)
        (self.groups / "web").write_text("web-a\n")
        self.adapter = self._build()

    def _build(self, *words: str) -> CommandAdapter:
        program = str(EXAMPLES / "groups")
        observe, scale = ((program, verb, str(self.groups)) for verb in ("observe", "scale"))
        return build(words or observe, words or scale, self.folder)

    def rebuild(self, *, dry_run: bool = False) -> Adapter:
        self.adapter = self._build()
        return self.adapter

    def set_size_outside(self, size: int) -> None:
        (self.groups / "web").write_text("".join(f"web-{number}\n" for number in range(size)))

    def unreachable(self) -> Adapter | str:
        return self._build("/bin/sleep", "60")


def seen(adapter: CommandAdapter, target: TargetRef = WEB) -> TargetState:
    answer = adapter.observe([target], call())[target]
    if not isinstance(answer, TargetState):
        pytest.fail(f"{answer!r}")
    return answer


STATE = '{"targets": [{"target": {"name": "web"}, "replicas": 3, "revision": "7"}]}'
WRITTEN = """echo '{"outcome": "Written"}'"""
