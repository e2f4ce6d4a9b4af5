"""The program that the tests of this folder start."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from tests.daemon.running import autoscaler, command, finished, write_config
from tests.packaging.artefacts import PROJECT

pytestmark = pytest.mark.slow

_IMPORTED = re.compile(
    r"^# (?:code object from|\S+ matches) \'?(/[^\']+?/(?:autoscaler|adapters)/[^\']+?\.py)", re.MULTILINE
)


def test_a_daemon_imports_each_module_from_the_wheel(installed: Path, tmp_path: Path, prometheus: str) -> None:
    """Otherwise a file that the wheel lacks fails no test of this folder."""
    config = write_config(tmp_path, prometheus, [autoscaler("web", "vector(1)")])
    words = command(config, "--once", program=("-v", "-m", "autoscaler"))
    done = finished(words, tmp_path / "state")
    assert done.returncode == 0, done.stderr[-3000:]
    imported = {Path(file) for file in _IMPORTED.findall(done.stderr)}
    assert {installed / "autoscaler/daemon.py", installed / "adapters/process/adapter.py"} <= imported
    assert [file for file in imported if not file.is_relative_to(installed)] == []


def test_the_wheels_command_prints_its_version(installed: Path, tmp_path: Path) -> None:
    version = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
    done = finished([sys.executable, str(installed / "bin/autoscaler"), "--version"], tmp_path)
    assert (done.returncode, done.stdout) == (0, f"autoscaler {version}\n")
