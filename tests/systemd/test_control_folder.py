"""The folder of the control socket: root makes it, with the operators' group, in a folder of the daemon's user."""

import pytest

from tests.systemd.machine import Machine
from tests.systemd.test_booted import DRY

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

PARENT = "/run/autoscaler"
FOLDER = f"{PARENT}/control"
AS_IT_IS = "autoscaler autoscaler-operators 2750 directory\n"


def look(machine: Machine, path: str = FOLDER) -> str:
    return machine.run("stat", "--format=%U %G %a %F", path).stdout


def test_it_is_there_after_the_installation(booted_machine: Machine) -> None:
    """Before the service has ever run: its operators can be named at once."""
    assert booted_machine.run("getent", "group", "autoscaler-operators").returncode == 0
    assert look(booted_machine) == AS_IT_IS


def test_it_is_made_at_boot(machine: Machine) -> None:
    """/run is empty then."""
    machine.checked("rm", "-rf", PARENT)
    machine.checked("systemctl", "restart", "systemd-tmpfiles-setup.service")
    assert look(machine) == AS_IT_IS
    assert look(machine, PARENT) == "autoscaler autoscaler 755 directory\n"


@pytest.mark.parametrize("removed", [FOLDER, PARENT])
def test_it_is_made_at_each_start_of_the_service(machine: Machine, removed: str) -> None:
    """Whoever cleaned up takes the operators' way in only until the next start."""
    machine.configure(DRY)
    machine.checked("systemd-tmpfiles", "--create", "autoscaler.conf")
    machine.checked("rm", "-r", removed)
    machine.checked("systemctl", "start", "autoscaler")
    assert look(machine) == AS_IT_IS


def test_a_link_in_its_place_gives_nothing_to_the_daemon_s_user(machine: Machine) -> None:
    """That user owns the folder above, and so do the workers of pools, which run as it."""
    machine.configure(DRY)
    secret = "/etc/a-folder-of-root"
    machine.checked("mkdir", "-p", "-m", "700", secret)
    before = look(machine, secret)
    machine.checked("systemd-tmpfiles", "--create", "autoscaler.conf")
    machine.checked("rm", "-rf", FOLDER)
    machine.checked("runuser", "-u", "autoscaler", "--", "ln", "-s", secret, FOLDER)
    try:
        started = machine.run("systemctl", "start", "autoscaler")
        print(started, machine.journal()[-3000:], machine.show("ActiveState","ExecMainStatus"), look(machine))
        assert look(machine, secret) == before == "root root 700 directory\n"
    finally:
        machine.checked("rm", FOLDER)
    machine.reset()
    machine.checked("systemctl", "start", "autoscaler")
    assert look(machine) == AS_IT_IS
