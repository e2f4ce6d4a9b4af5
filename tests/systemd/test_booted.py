"""The service of the Debian package under Debian's real systemd, process 1 of a container."""

import pytest

from tests.packaging.artefacts import PROJECT
from tests.systemd.machine import CONFIG, DRY, Machine

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

FOUND_AGAIN = '"event": "workers_found_again"'


def test_the_service_starts_reloads_and_ends_in_its_sandbox(machine: Machine) -> None:
    """It runs as delivered: its own user, a secret as a credential, and no Prometheus."""
    machine.configure(DRY)
    started = machine.run("systemctl", "start", "autoscaler")
    assert started.returncode == 0, machine.journal()
    active, status = machine.show("ActiveState", "StatusText")
    assert active == "active"
    assert status == "1 autoscaler on 1 connection; failing: web"
    machine.checked("systemctl", "reload", "autoscaler")
    assert '"event": "reloaded"' in machine.journal()
    machine.run("systemctl", "stop", "autoscaler")
    assert machine.show("ActiveState", "Result", "ExecMainStatus") == ["inactive", "success", "0"]


@pytest.mark.parametrize(("wrong", "problem"), [("{}", "autoscaler.yaml:1:1: "), ("adapters: {", "autoscaler.yaml:")])
def test_a_reload_of_an_invalid_file_fails_with_the_reason(machine: Machine, wrong: str, problem: str) -> None:
    """The daemon keeps its configuration, and accepts the next valid one."""
    machine.configure(DRY)
    machine.checked("systemctl", "start", "autoscaler")
    machine.configure(wrong)
    reloaded = machine.run("systemctl", "reload", "autoscaler")
    assert reloaded.returncode != 0
    status = machine.run("systemctl", "status", "--lines=20", "autoscaler").stdout
    assert "the reload was refused, and the previous configuration stays in force:" in status
    assert problem in status
    assert "ExecReload=/usr/bin/autoscaler reload (code=exited, status=1/FAILURE)" in status
    assert machine.show("ActiveState", "NRestarts") == ["active", "0"]
    assert "1 autoscaler on 1 connection" in machine.show("StatusText")[0]
    machine.configure(DRY)
    machine.checked("systemctl", "reload", "autoscaler")


def test_an_invalid_configuration_causes_no_restart(machine: Machine) -> None:
    """Its exit code is 2. Another start would find the same file."""
    machine.configure("{}")
    assert machine.run("systemctl", "start", "autoscaler").returncode != 0
    assert machine.show("ActiveState", "ExecMainStatus", "NRestarts") == ["failed", "2", "0"]


def test_a_daemon_that_makes_no_progress_is_replaced(machine: Machine) -> None:
    """A daemon that is stopped by SIGSTOP does not feed the watchdog."""
    machine.drop_in("watchdog.conf", "[Service]\nWatchdogSec=4s\n")
    machine.configure(DRY)
    assert machine.run("systemctl", "start", "autoscaler").returncode == 0, machine.journal()
    machine.run("systemctl", "kill", "--signal=STOP", "autoscaler")
    machine.until(lambda: machine.show("NRestarts", "ActiveState") == ["1", "active"], "the restart")
    assert "Watchdog timeout" in machine.journal()


@pytest.mark.parametrize("end", [("restart",), ("kill", "--kill-whom=main", "--signal=KILL")], ids=["restart", "kill"])
def test_workers_outlive_the_service_with_the_drop_in(machine: Machine, end: tuple[str, ...]) -> None:
    """The next daemon finds the same processes, and they find their files in /tmp."""
    machine.drop_in("process.conf", (PROJECT / "systemd/autoscaler.service.d/process.conf").read_text())
    machine.configure(CONFIG.replace('[sleep, "3600"]', "'sh -c \"touch /tmp/worker.$$; exec sleep 3600\"'"))
    machine.run("sh", "-c", "rm -f /tmp/worker.*")
    assert machine.run("systemctl", "start", "autoscaler").returncode == 0, machine.journal()
    assert len(_workers(machine)) == 2
    machine.until(lambda: _files(machine) == _workers(machine), "the workers' files in /tmp")
    before, (daemon,) = _workers(machine), machine.show("MainPID")
    found = machine.journal().count(FOUND_AGAIN)  # the journal has the lines of all tests on this machine
    machine.checked("systemctl", *end, "autoscaler")
    machine.until(lambda: machine.show("ActiveState") == ["active"] and machine.show("MainPID") != [daemon], "the next")
    machine.until(lambda: machine.journal().count(FOUND_AGAIN) == found + 1, "the second start")
    assert _workers(machine) == before
    assert _files(machine) == before


def _workers(machine: Machine) -> set[str]:
    """Return the process ids of the workers."""
    found = machine.run("sh", "-c", "grep -l ^sleep /proc/[0-9]*/cmdline").stdout
    return {path.split("/")[2] for path in found.split()}


def _files(machine: Machine) -> set[str]:
    """Return the process ids of the workers with a file in /tmp."""
    return {path.partition(".")[2] for path in machine.run("sh", "-c", "ls /tmp/worker.*").stdout.split()}
