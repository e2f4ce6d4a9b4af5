"""Finds the Nomad binary: the one on PATH, else one built with Go from the versions pinned in go.mod.

`python -m tools.nomad` prints where it is.
"""

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

VERSION: Final = "1.11.3"
"""What go.mod requires; part of the built file's name, so that another version is built anew."""
CACHE: Final = Path(__file__).resolve().parents[2] / ".cache" / "nomad"
_MODULE: Final = Path(__file__).resolve().parent
_GO: Final = (1, 25, 8)
_REMEDY: Final = (
    "install Nomad (https://developer.hashicorp.com/nomad/install) so that `nomad` is on PATH, "
    f"or Go {'.'.join(map(str, _GO))} or newer (https://go.dev/dl) to build it"
)


class NomadNotFound(Exception):
    """There is no Nomad here and none could be built; the message says what to install."""


def nomad_binary(cache: Path = CACHE) -> Path:
    """Where `nomad` is; built into `cache` when it is not on PATH, which takes minutes. Raises NomadNotFound.

    Any number of processes may ask at once: one builds, the others wait for it.
    """
    if on_path := shutil.which("nomad"):
        return Path(on_path)
    built = cache / f"nomad-{VERSION}"
    if not built.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with (cache / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not built.exists():
                _build(built)
    return built


def _build(built: Path) -> None:
    """Build in a copy of the module, which Go completes; `built` appears whole or not at all."""
    go = shutil.which("go")
    if go is None:
        raise NomadNotFound(f"neither nomad nor go is on PATH; {_REMEDY}")
    found = _run([go, "env", "GOVERSION"], built.parent)
    version = tuple(int(part) for part in re.findall(r"\d+", found))
    if version < _GO:
        raise NomadNotFound(f"nomad is not on PATH, and {found.strip()} is too old to build it; {_REMEDY}")
    with tempfile.TemporaryDirectory(dir=built.parent, prefix="build-") as temporary:
        folder = Path(temporary)
        for name in ("go.mod", "go.sum", "tools.go"):
            shutil.copy(_MODULE / name, folder / name)
        _run([go, "build", "-mod=mod", "-o", "nomad", "github.com/hashicorp/nomad"], folder)
        (folder / "nomad").replace(built)


def _run(command: list[str], folder: Path) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - only the fixed commands above
            command, cwd=folder, env=os.environ | {"GOFLAGS": ""}, check=True, capture_output=True, text=True
        )
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip().splitlines() or ["without a word"])[-1]
        raise NomadNotFound(f"nomad is not on PATH, and `go {command[1]}` failed ({last}); {_REMEDY}") from error
    return done.stdout
