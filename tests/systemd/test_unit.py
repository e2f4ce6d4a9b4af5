"""The unit and its drop-ins, as systemd's own tools judge them."""

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.servers.required import require

SYSTEMD = Path(__file__).parents[2] / "systemd"
UNIT = "autoscaler.service"
DROP_INS = sorted((SYSTEMD / f"{UNIT}.d").glob("*.conf"))
LEAST_EXPOSED = 1.5
"""systemd's own measure, 0 (none) to 10; a service without any sandbox has 9.6."""


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    if shutil.which("systemd-analyze") is None:
        require("systemd-analyze is not installed; install Debian's package systemd")
    return subprocess.run(("systemd-analyze", *arguments), check=False, capture_output=True, text=True, timeout=60)


def installed(folder: Path, *drop_ins: Path) -> Path:
    """The unit as it would be installed, its ExecStart a file that exists here: `verify` looks for it."""
    program = folder / "autoscaler"
    program.symlink_to(sys.executable)
    unit = folder / UNIT
    unit.write_text((SYSTEMD / UNIT).read_text().replace("/usr/local/bin/autoscaler", str(program)))
    (folder / f"{UNIT}.d").mkdir()
    for drop_in in drop_ins:
        shutil.copy(drop_in, folder / f"{UNIT}.d")
    return unit


def settings(file: Path) -> Mapping[str, str]:
    """Return key -> last value."""
    return dict(re.findall(r"^(\w+)=(.*)$", file.read_text(), re.MULTILINE))


@pytest.mark.parametrize("drop_ins", [(), *((each,) for each in DROP_INS)], ids=["alone", *(d.stem for d in DROP_INS)])
def test_systemd_finds_no_problem(tmp_path: Path, drop_ins: tuple[Path, ...]) -> None:
    """`verify` warns of unknown keys and of wrong sections."""
    verified = analyze("verify", "--man=no", str(installed(tmp_path, *drop_ins)))
    assert (verified.returncode, verified.stdout + verified.stderr) == (0, "")


def test_it_is_sandboxed(tmp_path: Path) -> None:
    """Only its needs are exempt: the network, sockets and the resolver."""
    threshold = f"--threshold={int(LEAST_EXPOSED * 10)}"
    judged = analyze("security", "--offline=true", threshold, str(installed(tmp_path)))
    assert judged.returncode == 0, judged.stdout


def test_its_commands_exist() -> None:
    """The unit has the program, the reload, and the exit code of an invalid configuration."""
    unit = settings(SYSTEMD / UNIT)
    assert unit["ExecStart"].split()[1:] == ["run", "--config.file=/etc/autoscaler/autoscaler.yaml"]
    assert unit["ExecReload"] == "+/usr/local/bin/autoscaler reload"
    assert unit["RestartPreventExitStatus"] == "2"
    assert unit["Type"] == "notify"
    assert unit["Environment"] == "AUTOSCALER_BOOT_ID=%b"


def test_workers_outlive_the_service_with_the_process_drop_in() -> None:
    """Otherwise a restart of the daemon would end its pools."""
    drop_in = settings(SYSTEMD / f"{UNIT}.d" / "process.conf")
    kept = {key: drop_in[key] for key in ("KillMode", "PrivateTmp", "ReadWritePaths", "RemoveIPC")}
    assert kept == {
        "KillMode": "process",
        "PrivateTmp": "no",
        "ReadWritePaths": "/tmp /var/tmp",
        "RemoveIPC": "no",
    }


def test_its_user_is_created_at_installation() -> None:
    """Workers keep their user through a restart, and operators can run commands as it."""
    unit = settings(SYSTEMD / UNIT)
    assert unit["User"] == unit["Group"] == "autoscaler"
    assert re.search(r"^u autoscaler ", (SYSTEMD / "sysusers.d/autoscaler.conf").read_text(), re.MULTILINE)


def test_prometheus_can_read_the_folder_of_the_targets_files() -> None:
    """The state folder is closed to Prometheus, so it could not read a targetsFile there."""
    unit = settings(SYSTEMD / UNIT)
    assert (unit["RuntimeDirectory"], unit["RuntimeDirectoryMode"]) == ("autoscaler", "0755")
    assert unit["StateDirectoryMode"] == "0700"


def test_the_folder_of_the_targets_files_stays_through_a_restart() -> None:
    """Prometheus watches the folder. It finds a recreated folder at its next refresh, by default after 5 minutes."""
    assert settings(SYSTEMD / UNIT)["RuntimeDirectoryPreserve"] == "yes"


def test_its_use_of_the_machine_is_limited() -> None:
    """A flood, or a huge answer in memory, ends the daemon and not its neighbours."""
    unit = settings(SYSTEMD / UNIT)
    assert {key: unit[key] for key in ("LimitNOFILE", "MemoryMax", "TasksMax")} == {
        "LimitNOFILE": "8192",
        "MemoryMax": "1G",
        "TasksMax": "512",
    }


def test_the_daemons_limits_do_not_apply_to_workers() -> None:
    """They share its cgroup. With its limits a pool of a hundred, or the daemon with it, would end."""
    drop_in = settings(SYSTEMD / f"{UNIT}.d" / "process.conf")
    lifted = {key: drop_in[key] for key in ("MemoryMax", "TasksMax", "OOMPolicy")}
    assert lifted == {"MemoryMax": "infinity", "TasksMax": "infinity", "OOMPolicy": "continue"}
