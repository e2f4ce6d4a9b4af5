"""The report of a failed test says why it failed, also if the failure is in what tests share or in a command."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FAILS = """
import subprocess, sys
from tests.hostile.damage import check_message

def test_shared():
    check_message("")

def test_command():
    words = [sys.executable, "-c", "import sys; print('begun'); sys.exit('no such schema')"]
    subprocess.run(words, check=True, capture_output=True)
"""


@pytest.mark.slow
def test_a_failed_command_shows_what_it_said_and_shared_modules_show_values(tmp_path: Path) -> None:
    """CI once reported no more than `AssertionError:` and `returned non-zero exit status 1`."""
    (tmp_path / "test_fails.py").write_text(FAILS)
    words = ("-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", f"--rootdir={tmp_path}")
    done = subprocess.run(
        [sys.executable, *words, str(tmp_path)], cwd=ROOT, check=False, capture_output=True, text=True, timeout=600
    )
    assert "2 failed" in done.stdout.splitlines()[-1], done.stdout + done.stderr
    assert "assert 0 < 0" in done.stdout
    assert "begun\nno such schema\n" in done.stdout
