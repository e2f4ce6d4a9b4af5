"""`python -m bench.mutants`: breaks a copy of the tree, so that one can work on."""

import os
import shutil
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench import mutants
from bench.mutants.rooms import ROOMS

PROJECT: Final = Path(__file__).resolve().parents[2]
_COPIED: Final = ("autoscaler", "adapters", "config", "tests", "bench", "tools", "docs", "pyproject.toml", "README.md")


def main(arguments: Sequence[str]) -> int:
    """Print each mutant with the test that failed. Return 1 if the tests missed too many."""
    parser = ArgumentParser(prog="python -m bench.mutants", description=(mutants.__doc__ or "").partition("\n\n")[2])
    parser.add_argument("--seed", type=int, nargs="+", default=[1], help="(%(default)s)")
    parser.add_argument("--count", type=int, default=33, help="mutants for each room and seed (%(default)s)")
    parser.add_argument("--room", choices=ROOMS, help="break this room only")
    asked = parser.parse_args(arguments)
    return max([_tried(room, asked.count, asked.seed) for room in ([asked.room] if asked.room else ROOMS)])


def _tried(room: str, count: int, seeds: Sequence[int]) -> int:
    """Try a room's mutants in a copy of the tree, by a process of their own. Return its exit code."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        copy = Path(name)
        for each in _COPIED:
            source = PROJECT / each
            (shutil.copytree if source.is_dir() else shutil.copy2)(source, copy / each)
        if (PROJECT / ".cache").exists():  # the servers that tests run
            (copy / ".cache").symlink_to(PROJECT / ".cache")
        command = [sys.executable, "-m", "bench.mutants.trials", room, str(count), *map(str, seeds)]
        environment = os.environ | {"COVERAGE_FILE": str(copy / ".coverage")}
        return subprocess.run(command, cwd=copy, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
