"""Checks whether a pool's workers could start here, without starting one."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from adapters.process.settings import PORT_MARK, PoolSettings


def unstartable(pool: PoolSettings, environment: Mapping[str, str]) -> str | None:
    """Return why the pool's command would not start, and the remedy; None: no problem is known.

    `environment`: of the process that would start it.
    """
    where = Path(pool.cwd) if pool.cwd is not None else Path.cwd()
    if not where.is_dir() or not os.access(where, os.X_OK):
        return f"cwd {where} is no folder that this user may enter; create it, or check its permissions"
    name = pool.command[0] if pool.ports is None else pool.command[0].replace(PORT_MARK, str(pool.ports[0]))
    if "/" in name:
        return None if shutil.which(where / name) else f"{where / name} {_NOT_RUN}"
    path = pool.env.get("PATH", environment.get("PATH", os.defpath))
    folders = os.pathsep.join(str(where / folder) for folder in path.split(os.pathsep))
    return None if shutil.which(name, path=folders) else f"{name!r} in PATH {path!r} {_NOT_RUN}"


_NOT_RUN = "is no program that this user may run; correct the command, or make it executable (chmod +x)"
