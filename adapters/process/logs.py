"""Keeps workers' log files from filling the disk."""

import os
import shutil
from collections.abc import Collection
from pathlib import Path

LOG_BYTES = 8 * 2**20
"""A log that is larger moves to `.log.1` and starts again: a worker takes twice this at most."""
KEPT_LOGS = 10
"""Logs that are kept of workers that are gone."""


def bound(folder: Path, names: Collection[str]) -> None:
    """Cut the logs of these workers. They write in append mode, so a cut file goes on at its beginning."""
    for name in names:
        log = folder / f"{name}.log"
        if log.exists() and log.stat().st_size > LOG_BYTES:
            shutil.copyfile(log, folder / f"{name}.log.1")
            os.truncate(log, 0)


def forget(folder: Path, names: Collection[str]) -> None:
    """Remove the logs of workers that are gone, but for the newest few; `names` are those that are not."""
    gone = [log for log in folder.glob("*.log") if log.stem not in names]
    gone.sort(key=lambda log: log.stat().st_mtime, reverse=True)
    for log in gone[KEPT_LOGS:]:
        log.unlink(missing_ok=True)
        log.with_name(f"{log.name}.1").unlink(missing_ok=True)
