"""Loads a large configuration in a child process, which returns the settings.

Loading ten thousand autoscalers allocates some 250 MiB, which a process cannot return completely, and for seconds it
slows other threads down to half a processor. The settings themselves are a fiftieth of that.
"""

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from autoscaler.config.loader import load_text
from autoscaler.config.settings import Settings
from autoscaler.config.source import read
from autoscaler.errors import ConfigError, Problem

SMALL: Final = 256 * 2**10
"""Characters. A smaller file is loaded in this process, because a child process takes half a second longer."""


def load_for_daemon(path: Path, small: int = SMALL) -> Settings:
    """Return the settings in `path`. Raises ConfigError with every problem at once.

    A file of more than `small` characters is loaded in a child process; in this process if the child process cannot
    start, or cannot return the settings of an adapter.
    """
    text = read(path)
    found = _loaded_elsewhere(path, text) if len(text) > small else None
    if found is None:
        return load_text(path, text)
    if isinstance(found, Settings):
        return found
    raise ConfigError(found)


def _loaded_elsewhere(path: Path, text: str) -> Settings | list[Problem] | None:
    """Return the result of a child process; None: it has none."""
    command = [sys.executable, "-P", "-c", f"from {__name__} import main; main()", str(path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        done = subprocess.run(  # noqa: S603 - this interpreter, on our own module
            command, input=text.encode(), capture_output=True, check=True, env=environment
        )
        return pickle.loads(done.stdout)  # type: ignore[no-any-return]  # noqa: S301 - our own code wrote it, as our own user
    except Exception:  # noqa: BLE001 - this process then loads the file, or reports what is wrong
        return None


def main() -> None:
    """Runs in the child process: reads the text from standard input and writes the result to standard output."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # an adapter's import may print
    found: Any
    try:
        found = load_text(Path(sys.argv[1]), sys.stdin.buffer.read().decode())
    except ConfigError as error:
        found = list(error.problems)
    with output:
        pickle.dump(found, output, pickle.HIGHEST_PROTOCOL)
