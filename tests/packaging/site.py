"""Builds the documentation as a site."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def build(folder: Path, root: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Return the result of `mkdocs build --strict`; the site is in `folder`."""
    command = (sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder))
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(
        command, cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
