"""The documented program for template units, under a real systemd: the contract, and failing units."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from autoscaler.model import Phase, TargetRef
from autoscaler.target import Adapter
from autoscaler.target.contract import AdapterContract, Harness
from tests.adapters.command.harness import EXAMPLES, build
from tests.systemd.machine import Machine, booted

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

TEMPLATE = "[Service]\nExecStart=/bin/sh -c 'test %i -lt 9 && exec sleep infinity'\n"
"""Its ninth instance fails."""


@pytest.fixture(scope="module")
def plain_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """The machine without the package."""
    with booted(tmp_path_factory.mktemp("machine")) as machine:
        shutil.copy(EXAMPLES / "systemd-units", machine.root / "srv")
        (machine.root / "etc/systemd/system/web@.service").write_text(TEMPLATE)
        machine.checked("systemctl", "daemon-reload")
        yield machine


class UnitsHarness(Harness):
    """The units of a template on the machine that all tests share. The program runs in it, the adapter beside it."""

    chooses_victims = True
    poll_seconds = 0.2
    target = TargetRef("test", "web@")
    missing = TargetRef("test", "nobody@")

    def __init__(self, machine: Machine, folder: Path) -> None:
        self.machine, self.folder = machine, folder
        self.adapter = self.rebuild()

    def rebuild(self, *, dry_run: bool = False) -> Adapter:
        observe, scale = (self.machine.entering("/srv/systemd-units", verb) for verb in ("observe", "scale"))
        self.adapter = build(observe, scale, self.folder)
        return self.adapter

    def set_size_outside(self, size: int) -> None:
        for verb, numbers in (("stop", range(size + 1, 10)), ("start", range(1, size + 1))):
            if units := [f"web@{number}.service" for number in numbers]:
                self.machine.checked("systemctl", verb, *units)
        self.machine.checked("systemctl", "reset-failed")

    def unreachable(self) -> Adapter | str:
        return "systemd always answers; tests/adapters/command has programs that do not"


@pytest.fixture
def harness(plain_machine: Machine, tmp_path: Path) -> Harness:
    return UnitsHarness(plain_machine, tmp_path)


def test_a_template_that_does_not_exist_is_named(harness: Harness) -> None:
    """Its own autoscaler shows the message of systemctl."""
    answer = harness.adapter.observe([harness.missing], harness.call())[harness.missing]
    assert str(answer) == "No files found for nobody@.service."


class TestTemplateUnits(AdapterContract):
    """The contract's tests, with the module's harness."""


def test_a_failed_unit_counts_in_the_size_and_does_not_exist(harness: Harness) -> None:
    """It counts although systemd gave it up. The operator sees it, and a scale-in removes it."""
    state = harness.start_at(8)
    harness.adapter.scale(harness.target, harness.change(state, 9), harness.call())
    state = harness.wait_for(lambda now: now.instances[-1].phase is Phase.FAILED, "to have a failed unit")
    assert (state.instances[-1].name, state.replicas, state.status_replicas) == ("web@9.service", 9, 8)
    harness.adapter.scale(harness.target, harness.change(state, 8), harness.call())
    harness.settle(8)
