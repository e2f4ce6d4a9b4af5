"""One loop closed for real: Prometheus, the daemon and workers; then every step of it is decided again on paper."""

import math
import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from autoscaler.decide import conclude, decide, remember
from autoscaler.model import History, InstanceReading, TargetState
from autoscaler.record import Archive, Record
from tests.daemon.running import running_daemon, workers
from tests.e2e.loop import TARGET, WORKER, configuration
from tests.servers.files import replace_text
from tests.servers.prometheus import file_sd, running_prometheus

pytestmark = pytest.mark.slow


def by_hand(record: Record) -> int | None:
    """The proposal of the documentation's formula, where every worker is ready and measured; else None."""
    assert record.observation is not None
    state, reading = record.observation.target, record.observation.readings[0]
    if not isinstance(state, TargetState) or not isinstance(reading, InstanceReading):
        return None
    running = [worker for worker in state.instances if not worker.deleting]
    if not running or any(not worker.ready or worker.name not in reading.samples for worker in running):
        return None
    load = sum(reading.samples[worker.name].value for worker in running) // len(running) / 1000
    if abs(load / TARGET - 1) <= 0.1:
        return state.replicas
    return math.ceil(len(running) * load / TARGET)


def replay(records: Sequence[Record]) -> None:
    """Decide every recorded step again, from nothing but what was recorded: the decisions must be the same."""
    history = History()
    for record in records:
        assert record.observation is not None
        assert record.history == history
        again = decide(record.scaler, record.observation, history, record.decision.now)
        again = conclude(again, record.decision.outcome)
        assert again == record.decision
        history = remember(record.scaler, history, again)


def test_the_daemons_sizes_are_those_of_decide_and_of_the_formula(tmp_path: Path) -> None:
    """What was decided live, what is decided again over the record, and what anybody can reckon: one sequence."""
    (tmp_path / "worker.py").write_text(WORKER)
    demand = tmp_path / "demand"
    replace_text(demand, "demand 5\n")
    with running_prometheus(tmp_path, [file_sd("web", tmp_path / "targets.json")], interval="200ms") as prometheus:
        config = tmp_path / "autoscaler.yaml"
        config.write_text(yaml.safe_dump(configuration(prometheus.url, tmp_path)))
        with running_daemon(config) as daemon:
            try:
                daemon.wait_for("decision", current=1, desired=1, reason="ReadyForNewScale")
                for text, size in (("demand 29\n", 3), ("demand 59\n", 6), ("demand 5\n", 1)):
                    replace_text(demand, text)
                    daemon.wait_for("decision", written=size)
                assert daemon.stop(signal.SIGTERM) == 0
            finally:
                for pid in workers(tmp_path):  # they outlive their daemon
                    os.kill(pid, signal.SIGKILL)
        written = [line["written"] for line in daemon.events("decision") if line["written"] is not None]
    with Archive.open_archive(None, tmp_path / "state") as archive:
        records = list(archive.records("web"))
    assert [record.decision.written for record in records if record.decision.written is not None] == written
    assert written[-1] == 1
    assert max(written) == 6
    replay(records)
    reckoned = [(by_hand(record), record.decision.metrics[0].proposal) for record in records if record.decision.metrics]
    agreed = [(hand, found) for hand, found in reckoned if hand is not None]
    assert {hand for hand, _ in agreed} >= {1, 3, 6}
    assert all(hand == found for hand, found in agreed)
