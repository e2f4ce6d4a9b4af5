"""The metadata of the Debian package, and its effects on a machine."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.packaging.artefacts import PROJECT, checked, debian_package
from tests.packaging.lifecycle import CONFIGURATION, Life, lived
from tests.servers.required import require
from tests.systemd.machine import booted
from tests.temporary import own_folder

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


def test_lintian_finds_no_problem(package: Path) -> None:
    """It is Debian's own checker."""
    if shutil.which("lintian") is None:
        require("lintian is not installed; install Debian's package lintian")
    with own_folder("lintian-") as folder:  # it leaves its temporary files
        own = ("env", f"TMPDIR={folder}")
        checked(*own, "lintian", "--no-cfg", "--allow-root", "--fail-on", "error,warning", package)


def test_every_override_of_lintian_has_its_reason_before_it() -> None:
    """Readers must be able to judge whether the reason still applies."""
    lines = (PROJECT / "debian/prometheus-autoscaler.lintian-overrides").read_text().splitlines()
    overrides = [number for number, line in enumerate(lines) if not line.startswith("#")]
    assert overrides
    assert [lines[number] for number in overrides if number == 0 or not lines[number - 1].startswith("# ")] == []


def test_the_package_requires_one_minor_version_of_python(package: Path) -> None:
    """Its virtual environment would be empty for the next one."""
    asked = "import sys; print(sys.version_info.minor)"
    minor = int(checked("/usr/bin/python3", "-c", asked))
    depends = field(package, "Depends").split(", ")
    assert {f"python3 (>= 3.{minor})", f"python3 (<< 3.{minor + 1})"} <= set(depends)
    assert any(name.startswith("libc6 (>= ") for name in depends)


def test_the_configuration_is_a_conffile(package: Path) -> None:
    """Dpkg keeps the administrator's changes."""
    assert checked("dpkg-deb", "--info", package, "conffiles").split() == ["/etc/autoscaler/autoscaler.yaml"]


def test_the_package_contains_no_build_path(package: Path, tmp_path: Path) -> None:
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


def test_a_new_service_is_enabled_and_not_started(life: Life) -> None:
    """Without configuration it would fail at once."""
    assert (life.fresh.active, life.fresh.enabled) == ("inactive", True)
    assert life.fresh.user
    assert life.fresh.operators
    assert life.fresh.configuration == (PROJECT / "debian/autoscaler.yaml").read_text()


def test_a_fresh_machine_scales_out_and_in_within_ten_minutes(life: Life) -> None:
    """It uses Debian's Prometheus, one edited file and the service in its sandbox."""
    assert life.sizes == (1, 2, 3, 1)
    assert life.seconds < 600


def test_an_upgrade_keeps_the_configuration_and_the_workers(life: Life) -> None:
    """The daemon is restarted. With the drop-in its workers continue."""
    assert life.upgraded.version == f"9{life.before_upgrade.version}"
    assert life.upgraded.active == "active"
    assert life.upgraded.daemon != life.before_upgrade.daemon
    assert life.upgraded.configuration == CONFIGURATION
    assert life.upgraded.workers == life.before_upgrade.workers
    assert len(life.upgraded.workers) == 1


def test_removing_the_package_ends_the_workers_and_keeps_configuration_and_state(life: Life) -> None:
    """Without the daemon, workers would be unsupervised."""
    assert (life.removed.version, life.removed.daemon, life.removed.workers) == ("", "0", frozenset())
    assert life.removed.configuration == CONFIGURATION
    assert life.removed.state
    assert life.removed.user
    assert life.removed.operators
    kept = ("etc/autoscaler", "var/lib/autoscaler", "run/autoscaler")  # the last until the next boot
    assert life.removed.left == kept


def test_a_reinstalled_package_continues_with_the_state(life: Life) -> None:
    assert life.again.active == "active"
    assert life.again.configuration == CONFIGURATION
    assert "SuccessfulRescale" in life.before_upgrade.events
    assert set(life.before_upgrade.events) <= set(life.again.events)


def test_purging_the_package_leaves_nothing(life: Life) -> None:
    """This covers state, user, group, compiled modules and processes."""
    assert (life.purged.version, life.purged.daemon, life.purged.workers) == ("", "0", frozenset())
    assert life.purged.configuration is None
    assert not life.purged.user
    assert not life.purged.operators
    assert life.purged.left == ()
