"""Builds programs with Go, once, from modules of this repository."""

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

_MODULE_FILES = ("*.mod", "*.sum", "*.go")


class GoFailed(Exception):
    """Go is missing or too old, or the build failed; the message says which."""


def build_once(built: Path, module: Path, package: str, oldest: tuple[int, int, int]) -> Path:
    """Build `package` in the folder `module` as the file `built`, unless it exists. Raises GoFailed.

    `oldest`: the Go that is needed. Any number of processes may ask at once: one builds, the others wait for it.
    """
    if not built.exists():
        built.parent.mkdir(parents=True, exist_ok=True)
        with (built.parent / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not built.exists():
                _build(built, module, package, oldest)
    return built


def _build(built: Path, module: Path, package: str, oldest: tuple[int, int, int]) -> None:
    """Build in a copy of the module, which Go completes. `built` appears complete or not at all."""
    go = shutil.which("go")
    if go is None:
        raise GoFailed("go is not on PATH")
    found = _run([go, "env", "GOVERSION"], built.parent)
    if tuple(int(part) for part in re.findall(r"\d+", found)) < oldest:
        raise GoFailed(f"{found.strip()} is too old to build it")
    with tempfile.TemporaryDirectory(dir=built.parent, prefix="build-") as temporary:
        folder = Path(temporary)
        for pattern in _MODULE_FILES:
            for file in module.glob(pattern):
                shutil.copy(file, folder / file.name)
        _run([go, "build", "-mod=mod", "-o", "built", package], folder)
        (folder / "built").replace(built)


def _run(command: list[str], folder: Path) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - only the fixed commands above
            command, cwd=folder, env=os.environ | {"GOFLAGS": ""}, check=True, capture_output=True, text=True
        )
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip().splitlines() or ["without a word"])[-1]
        raise GoFailed(f"`go {command[1]}` failed ({last})") from error
    return done.stdout
