"""Real workers are started, replaced and stopped."""

import os
import signal
import sys
from pathlib import Path

import pytest

from adapters.process import backoff, procfs
from adapters.process.procfs import Identity, carriers, runs
from adapters.process.records import Pool
from adapters.process.upkeep import Upkeep
from autoscaler.model import Written
from tests.adapters.process.conftest import Build
from tests.waiting import until

pytestmark = pytest.mark.slow


def test_a_worker_that_is_killed_is_replaced_under_a_new_name(build: Build) -> None:
    """The adapter keeps a pool at its size. A reused name would inherit another worker's history."""
    harness = build(initialReplicas=2)
    harness.settle(2)
    victim, other = harness.identities()
    os.killpg(victim.pid, signal.SIGKILL)
    harness.wait_for(lambda state: "web-3" in {one.name for one in state.instances}, "to have a replacement")
    assert {one.name for one in harness.settle(2).instances} == {"web-2", "web-3"}
    assert runs(other)


def test_a_dead_worker_leaves_no_zombie(build: Build) -> None:
    """A daemon that runs for months must not fill the process table."""
    harness = build()
    harness.settle(1)
    pid = harness.identities()[0].pid
    os.killpg(pid, signal.SIGKILL)
    until(lambda: not Path(f"/proc/{pid}").exists(), "the dead worker to be reaped")


def test_workers_that_die_at_once_are_started_with_growing_pauses(build: Build) -> None:
    """A broken command must not become a fork bomb, and the operator must learn where its output is."""
    harness = build(command="false")
    state = harness.wait_for(lambda state: bool(state.warnings), "to warn")
    assert "after its start; its output is in" in state.warnings[0]
    until(lambda: harness.logger.events.count("worker_died") >= 2, "a second death")
    assert harness.logger.events.count("worker_started") <= 3


def test_a_worker_that_ends_at_its_start_is_reported_with_its_exit_code_and_last_line(build: Build) -> None:
    """An operator must not have to search for the log first."""
    harness = build(command=["sh", "-c", "echo first; echo 'no module named flask' >&2; exit 3"])
    state = harness.wait_for(lambda state: "the last line:" in "".join(state.warnings), "to quote the log")
    assert " ended with exit code 3, " in state.warnings[0]
    assert state.warnings[0].endswith(", the last line: no module named flask")


def test_a_pool_that_runs_again_is_no_longer_reported_as_failing(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    """A warning that stays after the repair would no longer be believed."""
    monkeypatch.setattr(backoff, "STEADY_SECONDS", 0.5)
    harness = build()
    harness.settle(1)
    os.killpg(harness.identities()[0].pid, signal.SIGKILL)
    harness.wait_for(lambda state: bool(state.warnings), "to warn")
    assert " was ended by SIGKILL, " in harness.observe().warnings[0]
    harness.wait_for(lambda state: not state.warnings, "to warn no more")


def test_a_command_that_does_not_exist_is_a_warning_that_names_it(build: Build) -> None:
    """The target stays observable; the warning says why workers are missing."""
    harness = build(command="/nowhere/worker --port 1")
    state = harness.wait_for(lambda state: bool(state.warnings), "to warn")
    assert "/nowhere/worker" in state.warnings[0]
    assert (state.replicas, state.status_replicas) == (1, 0)


def test_a_worker_that_ignores_sigterm_is_killed_after_the_grace_period(build: Build) -> None:
    """A scale-in must end."""
    harness = build(command=[sys.executable, "-Sc", _STUBBORN], gracePeriod="6s")
    until(lambda: "armed" in harness.log(), "the worker to ignore SIGTERM")
    identity = harness.identities()[0]
    harness.set_size_outside(0)
    state = harness.wait_for(lambda state: any(one.deleting for one in state.instances), "to be deleting")
    assert state.status_replicas == 0, "a worker that is on its way out is not an active one"
    harness.settle(0)
    assert not runs(identity)
    assert [keys["worker"] for keys in harness.logger.of("worker_killed")] == ["web-1"]


def test_a_worker_that_ends_on_sigterm_is_not_killed(build: Build) -> None:
    """The grace period is an upper bound, not a pause."""
    harness = build(gracePeriod="1h")
    harness.settle(1)
    harness.set_size_outside(0)
    harness.settle(0)
    assert "worker_killed" not in harness.logger.events


def test_the_children_of_a_worker_end_with_it(build: Build) -> None:
    """A remaining child process would keep the port and carry load that is not counted."""
    harness = build(command=["sh", "-c", "setsid sleep 1000 & exec sleep 1000"])
    harness.settle(1)
    (worker,) = harness.workers()
    until(lambda: len(carriers(worker.token)) == 2, "the worker's own child")
    child = next(pid for pid in carriers(worker.token) if worker.identity and pid != worker.identity.pid)
    os.kill(harness.identities()[0].pid, signal.SIGKILL)
    until(lambda: not carriers(worker.token), f"the child {child} to end too")


def test_without_victims_the_newest_leave_first(build: Build) -> None:
    """The oldest workers have the warmest caches."""
    harness = build(initialReplicas=3)
    state = harness.settle(3)
    assert harness.adapter.scale(harness.target, harness.change(state, 1), harness.call()) == Written(1)
    assert [one.name for one in harness.settle(1).instances] == ["web-1"]


_STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("armed", flush=True)
time.sleep(1000)
"""


def test_the_keeper_survives_its_own_errors(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the thread ended, no pool would be kept. A failure is logged once and retried."""
    remove_ended, api = Upkeep.remove_ended, {"command": "sleep 1000", "env": {"POOL": "api"}}

    def fail_for_api(upkeep: Upkeep, pool: Pool) -> Pool:
        if broken and upkeep.settings.env:
            raise ZeroDivisionError("by a bug")
        return remove_ended(upkeep, pool)

    broken = True
    monkeypatch.setattr(Upkeep, "remove_ended", fail_for_api)
    harness = build(others={"api": api})
    harness.settle(1)
    harness.set_size_outside(2)
    harness.settle(2)
    errors = [(event, keys["pool"], keys["error"]) for level, event, keys in harness.logger.lines if level == "error"]
    assert errors == [("pool_not_kept", "api", "ZeroDivisionError: by a bug")]
    broken = False
    until(lambda: "api-1" in {keys.get("worker") for _, _, keys in harness.logger.lines}, "the other pool to start")


def test_a_worker_that_may_not_be_signalled_is_logged(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that changed its user stays until an operator ends it; other workers are not affected."""

    def refuse(identity: Identity, number: signal.Signals) -> bool:
        raise PermissionError

    harness = build()
    harness.settle(1)
    monkeypatch.setattr(procfs, "signal_group", refuse)
    harness.set_size_outside(0)
    until(lambda: "worker_not_signalled" in harness.logger.events, "a warning")
    assert [one.deleting for one in harness.observe().instances] == [True]
