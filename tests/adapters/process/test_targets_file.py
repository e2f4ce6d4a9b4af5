"""A file_sd file lists the workers for Prometheus."""

import json
from pathlib import Path
from typing import Any

import pytest

from autoscaler.model import TargetRef, TargetState
from tests.adapters.process.conftest import Build
from tests.servers.ports import free_ports
from tests.waiting import until

pytestmark = pytest.mark.slow


def _entries(file: Path) -> list[dict[str, Any]]:
    return json.loads(file.read_text()) if file.exists() else []


def test_the_file_names_the_workers_that_stay(build: Build, tmp_path: Path) -> None:
    """Addresses are those of the instances' identities; labels tell pools apart and join samples."""
    file = tmp_path / "web.json"
    harness = build(ports=free_ports(3), initialReplicas=2, targetsFile=str(file))
    state = harness.settle(2)
    until(lambda: len(_entries(file)) == 2, "both workers in the file")
    for entry, instance in zip(_entries(file), state.instances, strict=True):
        assert entry["labels"] == {"pool": "web", "worker": instance.name, "instance_id": instance.name}
        assert instance.name in instance.identities
        assert set(entry["targets"]) <= instance.identities
    assert file.stat().st_mode & 0o777 == 0o644, "Prometheus runs as another user"


def test_the_file_follows_the_size(build: Build, tmp_path: Path) -> None:
    """Prometheus would report an ended worker as down."""
    file = tmp_path / "web.json"
    harness = build(ports=free_ports(2), targetsFile=str(file))
    until(lambda: len(_entries(file)) == 1, "the first worker")
    harness.set_size_outside(2)
    until(lambda: len(_entries(file)) == 2, "the second worker")
    harness.set_size_outside(0)
    until(lambda: file.read_text() == "[]\n", "an empty list")


def test_a_file_that_cannot_be_written_is_said_once_and_stops_nothing(build: Build, tmp_path: Path) -> None:
    """The pool is kept, and the file is written as soon as possible."""
    file = tmp_path / "later/web.json"
    harness = build(ports=free_ports(2), targetsFile=str(file))
    harness.settle(1)
    harness.set_size_outside(2)
    harness.settle(2)
    (error,) = [keys["error"] for level, _, keys in harness.logger.lines if level == "error"]
    assert str(file) in error
    file.parent.mkdir()
    until(lambda: len(_entries(file)) == 2, "the file")


def test_while_it_cannot_be_written_the_target_warns_of_it(build: Build, tmp_path: Path) -> None:
    """Its metrics have no samples, and the warning says why; after the repair it ends."""
    file = tmp_path / "later/web.json"
    harness = build(ports=free_ports(1), targetsFile=str(file), others={"api": {"command": "sleep 1000"}})
    harness.settle(1)
    state = harness.wait_for(lambda state: bool(state.warnings), "to warn")
    (warning,) = state.warnings
    assert warning == (
        f"Prometheus does not find the workers: targetsFile {file}: "
        f"the folder {file.parent} does not exist; create it, writable for the daemon"
    )
    api = TargetRef("local", "api")
    neighbour = harness.adapter.observe([api], harness.call())[api]
    assert isinstance(neighbour, TargetState)
    assert neighbour.warnings == ()
    file.parent.mkdir()
    harness.wait_for(lambda state: not state.warnings, "to warn no more")


def test_examining_finds_a_folder_that_is_missing(build: Build, tmp_path: Path) -> None:
    """`check --live` reports it before the daemon runs."""
    harness = build(ports=free_ports(1), targetsFile=str(tmp_path / "none/web.json"), dry_run=True)
    assert harness.process.examine(harness.target) == (
        f"Prometheus would not find the workers of pool 'web': the folder {tmp_path}/none does not exist; create it, "
        "writable for the daemon"
    )
