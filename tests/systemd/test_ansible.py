"""The Ansible role, run by Debian's ansible-core on a machine with systemd that has nothing of the daemon."""

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pytest

from tests.packaging.artefacts import PROJECT, debian_package
from tests.systemd.machine import Machine, booted

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

_CONFIGURATION: Final = """
prometheus: {default: {url: "http://127.0.0.1:1", timeout: 1s}}
adapters: {local: {type: process, pools: {web: {command: [sleep, "3600"]}}}}
autoscalers:
  - name: web
    scaleTargetRef: {adapter: local, name: web}
    minReplicas: 1
    maxReplicas: 5
    metrics: [{type: External, external: {metric: {name: q}, query: {expr: q}, target: {type: Value, value: 1}}}]
"""


@dataclass(frozen=True)
class Run:
    """The end of one run of the playbook, and what the service was then."""

    code: int
    said: str
    changed: int
    active: str
    daemon: str
    """The main pid of the service."""
    maximum: int
    """`maxReplicas`, as the daemon has it."""


@dataclass(frozen=True)
class Runs:
    first: Run
    same: Run
    other: Run
    """With another `maxReplicas`."""
    wrong: Run
    """With a wrong one."""
    enabled: str
    configuration: str
    """The file on the machine after all of them."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    package = debian_package(tmp_path_factory)
    with booted(tmp_path_factory.mktemp("machine")) as machine:
        machine.install("ansible-core", "python3-apt")
        shutil.copytree(PROJECT / "config/deploy/ansible", machine.root / "srv/ansible")
        shutil.copy(package, machine.root / "srv/autoscaler.deb")
        (machine.root / "srv/hosts").write_text("[autoscaler]\nlocalhost ansible_connection=local\n")
        first, same = played(machine, _CONFIGURATION), played(machine, _CONFIGURATION)
        other = played(machine, _CONFIGURATION.replace("maxReplicas: 5", "maxReplicas: 7"))
        wrong = played(machine, _CONFIGURATION.replace("maxReplicas: 5", "maxReplicas: 0"))
        enabled = machine.run("systemctl", "is-enabled", "autoscaler").stdout
        configuration = (machine.root / "etc/autoscaler/autoscaler.yaml").read_text()
        yield Runs(first, same, other, wrong, enabled, configuration)


def played(machine: Machine, configuration: str) -> Run:
    """Run the playbook, as its comment says, with this configuration beside it."""
    (machine.root / "srv/ansible/autoscaler.yaml").write_text(configuration)
    words = ("ansible-playbook", "-i", "/srv/hosts", "/srv/ansible/playbook.yaml")
    package = ("-e", "autoscaler_package=/srv/autoscaler.deb")
    done = machine.run("env", "LC_ALL=C.UTF-8", "HOME=/root", *words, *package)
    counted = re.search(r"changed=([0-9]+)", done.stdout)
    assert counted is not None, done.stdout + done.stderr
    active, daemon = machine.show("ActiveState", "MainPID")
    spec = json.loads(machine.checked("autoscaler", "describe", "web", "--output=json"))["spec"]
    return Run(done.returncode, done.stdout + done.stderr, int(counted[1]), active, daemon, spec["maximum"])


def test_the_first_run_installs_and_starts_the_service(runs: Runs) -> None:
    assert (runs.first.code, runs.first.active, runs.first.maximum) == (0, "active", 5), runs.first.said
    assert runs.enabled == "enabled\n"


def test_the_second_run_changes_nothing(runs: Runs) -> None:
    """Not even the daemon, which knows its present workers."""
    assert (runs.same.code, runs.same.changed) == (0, 0), runs.same.said
    assert runs.same.daemon == runs.first.daemon


def test_another_configuration_is_reloaded(runs: Runs) -> None:
    """No restart: what is unchanged keeps running."""
    assert (runs.other.code, runs.other.changed, runs.other.maximum) == (0, 2, 7), runs.other.said
    assert runs.other.daemon == runs.first.daemon


def test_a_wrong_configuration_leaves_the_old_one(runs: Runs) -> None:
    """The play fails with what `check` says, before the file is replaced."""
    assert runs.wrong.code != 0
    assert "autoscalers[0].maxReplicas: " in runs.wrong.said
    assert "maxReplicas: 7" in runs.configuration
    assert (runs.wrong.active, runs.wrong.daemon, runs.wrong.maximum) == ("active", runs.first.daemon, 7)
