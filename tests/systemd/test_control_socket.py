"""The control socket of the installed service: its folder, which root creates, and its users."""

from collections.abc import Iterator

import pytest

from tests.systemd.conftest import CREDENTIAL
from tests.systemd.machine import CONFIG, DRY, Machine

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

PARENT = "/run/autoscaler"
FOLDER = f"{PARENT}/control"
SOCKET = f"{FOLDER}/control.sock"
AS_IT_IS = "autoscaler autoscaler-operators 2750 directory\n"
MAKE = ("systemd-tmpfiles", "--create", "autoscaler.conf")
SAID = f"{PARENT}/said"
"""The answer to a pool's worker that requested a pause."""
ASKING = f"until [ -S {SOCKET} ]; do sleep 0.1; done; autoscaler pause web >{SAID}.new 2>&1; mv {SAID}.new {SAID}"


def look(machine: Machine, path: str = FOLDER) -> str:
    return machine.run("stat", "--format=%U %G %a %F", path).stdout


def test_the_socket_is_made_at_boot(machine: Machine) -> None:
    """/run is empty at boot. The command is that of systemd-tmpfiles-setup.service."""
    machine.checked("rm", "-rf", PARENT)
    machine.checked("systemd-tmpfiles", "--create", "--remove", "--boot", "--exclude-prefix=/dev")
    assert look(machine) == AS_IT_IS
    assert look(machine, PARENT) == "autoscaler autoscaler 755 directory\n"


@pytest.mark.parametrize("removed", [FOLDER, PARENT])
def test_the_socket_is_made_at_each_start_of_the_service(machine: Machine, removed: str) -> None:
    """If the folder is removed, operators are locked out only until the next start."""
    machine.configure(DRY)
    machine.checked(*MAKE)
    machine.checked("rm", "-r", removed)
    machine.checked("systemctl", "start", "autoscaler")
    assert look(machine) == AS_IT_IS
    assert look(machine, SOCKET) == "autoscaler autoscaler-operators 660 socket\n"


def test_a_link_in_its_place_gives_nothing_to_the_daemon_s_user(machine: Machine) -> None:
    """That user owns the parent folder, and workers of pools run as that user."""
    machine.configure(DRY)
    secret = "/etc/a-folder-of-root"
    machine.checked("mkdir", "-p", "-m", "700", secret)
    machine.checked(*MAKE)
    machine.checked("rm", "-r", FOLDER)
    machine.checked("runuser", "-u", "autoscaler", "--", "ln", "-s", secret, FOLDER)
    started = machine.run("systemctl", "start", "autoscaler")
    machine.checked("rm", FOLDER)  # the machine is shared, and the unit keeps the content of /run/autoscaler
    assert look(machine, secret) == "root root 700 directory\n"
    assert started.returncode != 0
    assert f"the control socket {SOCKET} cannot be used" in machine.journal()


@pytest.fixture(scope="module")
def steered(booted_machine: Machine) -> Iterator[Machine]:
    """A running service with a worker that requests a pause. The user ann is an operator, bob is not."""
    booted_machine.checked("useradd", "--groups", "autoscaler-operators", "ann")
    booted_machine.checked("useradd", "bob")
    booted_machine.reset()
    booted_machine.drop_in("credential.conf", CREDENTIAL)
    booted_machine.configure(CONFIG.replace('[sleep, "3600"], initialReplicas: 2', f"[sh, -c, '{ASKING}; sleep 3600']"))
    booted_machine.checked("systemctl", "start", "autoscaler")
    yield booted_machine
    booted_machine.reset()


def by(user: str, *words: str) -> tuple[str, ...]:
    """Return a command of a user who is logged in."""
    return ("runuser", "-u", user, "--", "autoscaler", *words)


@pytest.mark.parametrize("user", ["root", "ann"])
def test_root_and_an_operator_can_pause_and_all_users_see_their_names(steered: Machine, user: str) -> None:
    """The daemon gets the users from the kernel. Their own statements do not count."""
    steered.checked(*by(user, "pause", "web", "--reason", "deploying"))
    paused = f"paused by {user} until it is resumed: deploying"
    assert paused in steered.run(*by("bob", "get")).stdout
    assert f"by {user}, until it is resumed: deploying" in steered.checked(*by("ann", "describe", "web"))
    steered.checked(*by(user, "resume", "web"))
    assert "paused" not in steered.run(*by("bob", "get")).stdout


def test_another_user_learns_which_group_to_join(steered: Machine) -> None:
    """Over TCP it can still read."""
    refused = steered.run(*by("bob", "pause", "web"))
    assert refused.returncode == 1
    assert "sudo adduser bob autoscaler-operators" in refused.stderr
    assert steered.checked(*by("bob", "get", "web")).splitlines()[1].startswith("web ")


def test_a_worker_of_a_pool_is_no_operator(steered: Machine) -> None:
    """It runs as the daemon's user, who owns the folder and the socket."""
    steered.until(lambda: steered.run("test", "-e", SAID).returncode == 0, "the worker's answer")
    assert "may not use it" in steered.checked("cat", SAID)
    assert "paused by autoscaler" not in steered.run("autoscaler", "get").stdout
