"""Loads a large configuration in a child process, which returns the settings.

Loading ten thousand autoscalers makes objects by the million: some 250 MiB that a process which made them cannot give
back whole, and seconds in which its other threads get half of a processor. What is handed over is a fiftieth of it.
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


def load_for_daemon(path: Path) -> Settings:
    """The settings in `path`. Raises ConfigError with every problem at once.

    Loads the file in this process if the child process cannot start, or cannot return the settings of an adapter.
    """
    text = read(path)
    found = _loaded_elsewhere(path, text) if len(text) > SMALL else None
    if found is None:
        return load_text(path, text)
    if isinstance(found, Settings):
        return found
    raise ConfigError(found)


def _loaded_elsewhere(path: Path, text: str) -> Settings | list[Problem] | None:
    """The result of a child process; None: it has none."""
    command = [sys.executable, "-P", "-c", f"from {__name__} import main; main()", str(path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        done = subprocess.run(  # noqa: S603 - this interpreter, on our own module
            command, input=text.encode(), capture_output=True, check=True, env=environment
        )
        return pickle.loads(done.stdout)  # type: ignore[no-any-return]  # noqa: S301 - our own code wrote it, as our own user
    except Exception:  # noqa: BLE001 - whatever it is, loading it here says it in our own words or does it
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
