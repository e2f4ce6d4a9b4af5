"""The Debian package: what it says of itself, and what becomes of a machine that it is installed on."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.packaging.artefacts import PROJECT, checked, debian_package
from tests.packaging.lifecycle import CONFIGURATION, Life, lived
from tests.servers.required import require
from tests.systemd.machine import booted

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return debian_package(tmp_path_factory)


@pytest.fixture(scope="module")
def life(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Life:
    folder = tmp_path_factory.mktemp("life")
    with booted(folder) as machine:
        return lived(machine, package, folder)


def field(package: Path, name: str) -> str:
    return checked("dpkg-deb", "--field", package, name).strip()


def test_lintian_has_nothing_to_say(package: Path) -> None:
    """Debian's own checker; each override says why beside it."""
    if shutil.which("lintian") is None:
        require("lintian is not installed; install Debian's package lintian")
    checked("lintian", "--no-cfg", "--allow-root", "--fail-on", "error,warning", package)


def test_every_override_of_lintian_has_its_reason_before_it() -> None:
    """The next reader must be able to judge whether it still holds."""
    lines = (PROJECT / "debian/prometheus-autoscaler.lintian-overrides").read_text().splitlines()
    overrides = [number for number, line in enumerate(lines) if not line.startswith("#")]
    assert overrides
    assert [lines[number] for number in overrides if number == 0 or not lines[number - 1].startswith("# ")] == []


def test_it_belongs_to_one_minor_version_of_python(package: Path) -> None:
    """Its virtual environment would be empty for the next one."""
    asked = "import sys; print(sys.version_info.minor)"
    minor = int(checked("/usr/bin/python3", "-c", asked))
    depends = field(package, "Depends").split(", ")
    assert {f"python3 (>= 3.{minor})", f"python3 (<< 3.{minor + 1})"} <= set(depends)
    assert any(name.startswith("libc6 (>= ") for name in depends)


def test_its_configuration_is_a_conffile(package: Path) -> None:
    """What an administrator wrote into it is kept by dpkg."""
    assert checked("dpkg-deb", "--info", package, "conffiles").split() == ["/etc/autoscaler/autoscaler.yaml"]


def test_nothing_in_it_names_the_place_where_it_was_built(package: Path, tmp_path: Path) -> None:
    """The program, its path files and its unit are used elsewhere."""
    checked("dpkg-deb", "--extract", package, tmp_path)
    built = subprocess.run(
        ("grep", "-rIl", "-e", "/tmp/tmp\\.", "-e", str(PROJECT), tmp_path), check=False, capture_output=True, text=True
    )
    assert built.stdout == ""
    script = (tmp_path / "usr/lib/prometheus-autoscaler/bin/autoscaler").read_text()
    assert script.startswith("#!/usr/lib/prometheus-autoscaler/bin/python3\n")
    unit = (tmp_path / "lib/systemd/system/autoscaler.service").read_text()
    programs = re.findall(r"^Exec\w+=(\S+)", unit, re.MULTILINE)
    assert programs == ["+systemd-tmpfiles", "/usr/bin/autoscaler", "+/usr/bin/autoscaler"]


def test_it_is_enabled_and_waits_for_its_configuration(life: Life) -> None:
    """As it comes, nothing is configured: it would fail at once."""
    assert (life.fresh.active, life.fresh.enabled) == ("inactive", True)
    assert life.fresh.user
    assert life.fresh.operators
    assert life.fresh.configuration == (PROJECT / "debian/autoscaler.yaml").read_text()


def test_a_fresh_machine_scales_out_and_in_within_ten_minutes(life: Life) -> None:
    """With Debian's own Prometheus, one file edited and the service started, in its whole sandbox."""
    assert life.sizes == (1, 2, 3, 1)
    assert life.seconds < 600


def test_a_restart_under_load_loses_no_targets(life: Life) -> None:
    """Prometheus finds the workers that replace the old ones long before its next refresh of files, 5 minutes later."""
    assert life.sizes[1:3] == (2, 3)


def test_an_upgrade_keeps_the_configuration_and_the_workers(life: Life) -> None:
    """The daemon is another one; with the drop-in, its workers go on."""
    assert life.upgraded.version == f"9{life.before_upgrade.version}"
    assert life.upgraded.active == "active"
    assert life.upgraded.daemon != life.before_upgrade.daemon
    assert life.upgraded.configuration == CONFIGURATION
    assert life.upgraded.workers == life.before_upgrade.workers
    assert len(life.upgraded.workers) == 1


def test_removing_it_ends_its_workers_and_keeps_configuration_state_and_user(life: Life) -> None:
    """Nobody would look after the workers; what cannot be made anew stays, the operators too."""
    assert (life.removed.version, life.removed.daemon, life.removed.workers) == ("", "0", frozenset())
    assert life.removed.configuration == CONFIGURATION
    assert life.removed.state
    assert life.removed.user
    assert life.removed.operators
    kept = ("etc/autoscaler", "var/lib/autoscaler", "run/autoscaler")  # the last until the next boot
    assert life.removed.left == kept


def test_installed_again_it_remembers(life: Life) -> None:
    """Its state is what removing it has left."""
    assert life.again.active == "active"
    assert life.again.configuration == CONFIGURATION
    assert "SuccessfulRescale" in life.before_upgrade.events
    assert set(life.before_upgrade.events) <= set(life.again.events)


def test_purging_it_leaves_nothing(life: Life) -> None:
    """No state, no user, no group, no compiled module, and no process."""
    assert (life.purged.version, life.purged.daemon, life.purged.workers) == ("", "0", frozenset())
    assert life.purged.configuration is None
    assert not life.purged.user
    assert not life.purged.operators
    assert life.purged.left == ()
