"""Prometheus is told of the workers by a file_sd file."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.process.conftest import Build
from tests.adapters.process.harness import free_ports, poll

pytestmark = pytest.mark.slow


def _entries(file: Path) -> list[dict[str, Any]]:
    return json.loads(file.read_text()) if file.exists() else []


def test_it_names_the_workers_that_stay(build: Build, tmp_path: Path) -> None:
    """Addresses as the instances' identities have them, and labels to tell the pools apart."""
    file = tmp_path / "web.json"
    harness = build(ports=free_ports(3), initialReplicas=2, targetsFile=str(file))
    state = harness.settle(2)
    poll(lambda: len(_entries(file)) == 2, "both workers in the file")
    for entry, instance in zip(_entries(file), state.instances, strict=True):
        assert entry["labels"] == {"pool": "web", "worker": instance.name}
        assert set(entry["targets"]) <= instance.identities
    assert file.stat().st_mode & 0o777 == 0o644, "Prometheus runs as another user"


def test_it_follows_the_size(build: Build, tmp_path: Path) -> None:
    """What is gone is not scraped: Prometheus would report it down."""
    file = tmp_path / "web.json"
    harness = build(ports=free_ports(2), targetsFile=str(file))
    poll(lambda: len(_entries(file)) == 1, "the first worker")
    harness.set_size_outside(2)
    poll(lambda: len(_entries(file)) == 2, "the second worker")
    harness.set_size_outside(0)
    poll(lambda: file.read_text() == "[]\n", "an empty list")


def test_it_is_written_again_when_somebody_removes_it(build: Build, tmp_path: Path) -> None:
    """A cleaned folder must not blind Prometheus until the next change of size."""
    file = tmp_path / "web.json"
    build(ports=free_ports(2), targetsFile=str(file))
    poll(lambda: len(_entries(file)) == 1, "the first worker")
    file.unlink()
    poll(lambda: len(_entries(file)) == 1, "the file to be back")


def test_a_file_that_cannot_be_written_is_said_once_and_stops_nothing(build: Build, tmp_path: Path) -> None:
    """The pool is kept all the same, and the file comes as soon as it can."""
    file = tmp_path / "later/web.json"
    harness = build(ports=free_ports(2), targetsFile=str(file))
    harness.settle(1)
    harness.set_size_outside(2)
    harness.settle(2)
    (error,) = [keys["error"] for level, _, keys in harness.logger.lines if level == "error"]
    assert str(file) in error
    file.parent.mkdir()
    poll(lambda: len(_entries(file)) == 2, "the file")
