"""No run leaves temporary files."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LEAVES = """
import pathlib, tempfile

def test_leaves():
    pathlib.Path(__file__).with_name("made").write_text(tempfile.mkdtemp(prefix="left-"))
"""


@pytest.mark.slow
def test_a_run_removes_what_a_test_has_left_and_names_it(tmp_path: Path) -> None:
    """Servers that were started daily have filled a developer's disk with their folders."""
    (tmp_path / "test_leaves.py").write_text(LEAVES)
    words = ("-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", f"--rootdir={tmp_path}")
    done = subprocess.run(
        [sys.executable, *words, str(tmp_path)], cwd=ROOT, check=False, capture_output=True, text=True, timeout=600
    )
    made = Path((tmp_path / "made").read_text())
    assert not made.parent.exists()
    assert f"tests have left temporary files, which are removed: {made.name}" in done.stdout
    assert "1 passed" in done.stdout
    assert done.returncode == 0
