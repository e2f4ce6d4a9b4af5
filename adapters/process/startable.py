"""Checks whether a pool's workers could start here, without starting one."""

import os
from collections.abc import Mapping
from pathlib import Path

from adapters.process.settings import PORT_MARK, PoolSettings


def unstartable(pool: PoolSettings, environment: Mapping[str, str]) -> str | None:
    """Return why the pool's command would not start, and the remedy; None: no problem is known.

    `environment`: of the process that would start it.
    """
    where = Path(pool.cwd) if pool.cwd is not None else Path.cwd()
    if not where.is_dir():
        what = "is not a folder" if where.exists() else "does not exist"
        return f"cwd {where} {what}; correct it, or create it"
    if not os.access(where, os.X_OK):
        return f"cwd {where} may not be entered by this user; correct its permissions"
    name = pool.command[0] if pool.ports is None else pool.command[0].replace(PORT_MARK, str(pool.ports[0]))
    if "\0" in "".join((*pool.command, *pool.env.values())):
        return "the command or env holds a NUL character, which no program can be given; remove it"
    if "/" in name:
        return _not_a_program(where / name)
    path = pool.env.get("PATH", environment.get("PATH", os.defpath))
    candidates = [where / folder / name for folder in path.split(os.pathsep)]
    found = [each for each in candidates if each.is_file()]
    if found:
        return _not_a_program(next((each for each in found if os.access(each, os.X_OK)), found[0]))
    return (
        f"{name!r} is not in any folder of PATH {path!r} (a running daemon uses its own PATH); write "
        "the whole path of the program, or set PATH in the pool's env"
    )


def _not_a_program(program: Path) -> str | None:
    if not program.exists():
        return f"{program} does not exist; correct the command"
    if not program.is_file():
        return f"{program} is not a program but {'a folder' if program.is_dir() else 'a device'}; correct the command"
    if not os.access(program, os.X_OK):
        return f"{program} is not executable for this user; make it so (chmod +x), or name its interpreter first"
    return None
