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
    """Key -> last value."""
    return dict(re.findall(r"^(\w+)=(.*)$", file.read_text(), re.MULTILINE))


@pytest.mark.parametrize("drop_ins", [(), *((each,) for each in DROP_INS)], ids=["alone", *(d.stem for d in DROP_INS)])
def test_systemd_has_nothing_to_say_about_it(tmp_path: Path, drop_ins: tuple[Path, ...]) -> None:
    """`verify` warns of unknown keys and of sections that do not fit."""
    verified = analyze("verify", "--man=no", str(installed(tmp_path, *drop_ins)))
    assert (verified.returncode, verified.stdout + verified.stderr) == (0, "")


def test_it_is_sandboxed(tmp_path: Path) -> None:
    """What is left is what it needs: the network, sockets and the resolver."""
    threshold = f"--threshold={int(LEAST_EXPOSED * 10)}"
    judged = analyze("security", "--offline=true", threshold, str(installed(tmp_path)))
    assert judged.returncode == 0, judged.stdout


def test_it_runs_what_the_command_line_offers() -> None:
    """The program, the reload and the status of a configuration that does not load."""
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


def test_its_user_is_one_that_is_made_when_it_is_installed() -> None:
    """Workers keep their user over a restart, and an operator can run a command as it."""
    unit = settings(SYSTEMD / UNIT)
    assert unit["User"] == unit["Group"] == "autoscaler"
    assert re.search(r"^u autoscaler ", (SYSTEMD / "sysusers.d/autoscaler.conf").read_text(), re.MULTILINE)


def test_prometheus_may_read_the_folder_of_the_targets_files() -> None:
    """The state folder is closed to it, so a targetsFile there would find no reader."""
    unit = settings(SYSTEMD / UNIT)
    assert (unit["RuntimeDirectory"], unit["RuntimeDirectoryMode"]) == ("autoscaler", "0755")
    assert unit["StateDirectoryMode"] == "0700"


def test_prometheus_keeps_the_folder_of_the_targets_files_over_a_restart() -> None:
    """It watches the folder; one that is removed and made again it sees at its next refresh, by default 5 minutes."""
    assert settings(SYSTEMD / UNIT)["RuntimeDirectoryPreserve"] == "yes"


def test_its_use_of_the_machine_is_limited() -> None:
    """A flood, or a huge answer in memory, ends the daemon and not its neighbours."""
    unit = settings(SYSTEMD / UNIT)
    assert {key: unit[key] for key in ("LimitNOFILE", "MemoryMax", "TasksMax")} == {
        "LimitNOFILE": "8192",
        "MemoryMax": "1G",
        "TasksMax": "512",
    }


def test_workers_are_not_held_to_the_daemons_bounds() -> None:
    """They share its cgroup: a pool of a hundred would be ended, or the daemon with it."""
    drop_in = settings(SYSTEMD / f"{UNIT}.d" / "process.conf")
    lifted = {key: drop_in[key] for key in ("MemoryMax", "TasksMax", "OOMPolicy")}
    assert lifted == {"MemoryMax": "infinity", "TasksMax": "infinity", "OOMPolicy": "continue"}
