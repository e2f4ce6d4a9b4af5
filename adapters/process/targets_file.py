"""The file_sd file that lists a pool's workers for Prometheus.

Source: prometheus.io/docs, configuration, `<file_sd_config>`.
"""

import errno
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from adapters.process.records import Pool
from autoscaler.target import files

_OF_SERVICES: Final = tuple(map(Path, ("/etc", "/run", "/srv", "/var")))
_OF_PEOPLE: Final = tuple(map(Path, ("/run/user", "/var/tmp")))  # noqa: S108 - only compared; nothing is written there


def render(name: str, pool: Pool) -> str:
    """Return one entry for each staying worker, ready or not: the autoscaler also needs the samples of unready ones.

    The autoscaler joins samples by `instance_id` before `instance`: ports are reused, worker names are not.
    """
    entries = [
        {
            "targets": [f"127.0.0.1:{worker.port}"],
            "labels": {"pool": name, "worker": worker.name, "instance_id": worker.name},
        }
        for worker in pool.staying
        if worker.identity is not None
    ]
    return json.dumps(entries, indent=1) + "\n"


def unwritable(file: Path | None) -> str | None:
    """Return why the folder prevents writing the file, and the remedy; None: no problem is known."""
    return None if file is None else files.unwritable(file)


def not_written(file: Path, error: OSError) -> str:
    """Return the message for a file that could not be written: consequence, cause and remedy."""
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR:
            remedy = f"create the folder {file.parent}, writable for the daemon"
        case errno.EACCES | errno.EPERM:
            remedy = f"make the folder {file.parent} writable for the daemon's user"
        case errno.EROFS:
            remedy = f"write it elsewhere, as in /run/autoscaler, or give the service ReadWritePaths={file.parent}"
        case errno.ENOSPC | errno.EDQUOT:
            remedy = "free disk space"
        case _:
            remedy = "correct targetsFile"
    return f"Prometheus does not find the workers: targetsFile {file}: {error.strerror}; {remedy}"


def unreadable(file: Path | None) -> str | None:
    """Return why Prometheus could not read a file in a service's folder; None: no problem is known.

    An operator with the file in a home or temporary folder usually runs Prometheus as the same user.
    """
    closed = None if file is None else files.closed_folder(file)
    if file is None or closed is None or not _is_in(closed[0], _OF_SERVICES) or _is_in(closed[0], _OF_PEOPLE):
        return None
    return files.unreadable_for_others(file)


def _is_in(folder: Path, places: Iterable[Path]) -> bool:
    return any(place in (folder, *folder.parents) for place in places)
