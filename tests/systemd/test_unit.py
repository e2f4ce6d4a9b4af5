"""The unit and its drop-ins, as systemd's own tools judge them."""

import shutil
import subprocess
import sys
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


@pytest.mark.parametrize("drop_ins", [(), *((each,) for each in DROP_INS)], ids=["alone", *(d.stem for d in DROP_INS)])
def test_systemd_finds_no_problem(tmp_path: Path, drop_ins: tuple[Path, ...]) -> None:
    """`verify` warns of unknown keys and of wrong sections."""
    verified = analyze("verify", "--man=no", str(installed(tmp_path, *drop_ins)))
    assert (verified.returncode, verified.stdout + verified.stderr) == (0, "")


def test_the_unit_is_sandboxed(tmp_path: Path) -> None:
    """Only its needs are exempt: the network, sockets and the resolver."""
    threshold = f"--threshold={int(LEAST_EXPOSED * 10)}"
    judged = analyze("security", "--offline=true", threshold, str(installed(tmp_path)))
    assert judged.returncode == 0, judged.stdout
