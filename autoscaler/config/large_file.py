"""Loads large files in a child process, which returns the settings.

Loading ten thousand autoscalers allocates some 250 MiB, which a process cannot return completely, and for seconds it
slows other threads down to half a processor. The settings themselves are a fiftieth of that.
"""

import gc
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

from autoscaler.config.loader import load_text
from autoscaler.config.origins import Origins
from autoscaler.config.settings import Settings
from autoscaler.config.source import read
from autoscaler.config.teams import with_teams
from autoscaler.errors import ConfigError, Problem

SMALL: Final = 256 * 2**10
"""Characters. A smaller file is loaded in this process, because a child process takes half a second longer."""


def load_for_daemon(
    path: Path, small: int = SMALL, *, before: Origins | None = None, dry_run: bool = False
) -> Settings:
    """Return the settings in `path`, with the autoscalers of teams. Raises ConfigError with every problem of the file.

    `before`: the origins in force. `dry_run`: all autoscalers are dry runs. A file of more than `small` characters
    is loaded in a child process; in this process if the child process cannot start, or cannot return the settings of an
    adapter.
    """
    text = read(path)
    found = _load_elsewhere(path, text) if len(text) > small else None
    if isinstance(found, list):
        raise ConfigError(found)
    main = load_text(path, text) if found is None else found
    return with_teams(_as_dry_run(main) if dry_run else main, before)


def _as_dry_run(main: Settings) -> Settings:
    """Return the main file's settings with dry runs alone, those of teams included."""
    controller = main.shared.controller.model_copy(update={"dry_run": True})
    return replace(
        main,
        autoscalers=tuple([replace(scaler, dry_run=True) for scaler in main.autoscalers]),
        shared=replace(main.shared, controller=controller),
    )


def _load_elsewhere(path: Path, text: str) -> Settings | list[Problem] | None:
    """Return what a child process makes of the file; None: it has no result."""
    command = [sys.executable, "-P", "-c", f"from {__name__} import main; main()"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        given = pickle.dumps((path, text), pickle.HIGHEST_PROTOCOL)
        done = subprocess.run(  # noqa: S603 - this interpreter, on our own module
            command, input=given, capture_output=True, check=True, env=environment
        )
        found: Settings | list[Problem] = pickle.loads(done.stdout)  # noqa: S301 - our own code wrote it, as our own user
    except Exception:  # noqa: BLE001 - this process then does the work, or reports what is wrong
        return None
    return found


def main() -> None:
    """Run in the child process: read the file's path and text from standard input, and write the result."""
    gc.disable()
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # an adapter's import may print
    path, text = pickle.loads(sys.stdin.buffer.read())  # noqa: S301 - our parent wrote it
    try:
        found: Settings | list[Problem] = load_text(path, text)
    except ConfigError as error:
        found = list(error.problems)
    with output:
        pickle.dump(found, output, pickle.HIGHEST_PROTOCOL)
