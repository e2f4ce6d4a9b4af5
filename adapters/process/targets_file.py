"""The file_sd file that tells Prometheus where a pool's workers are.

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
_OF_PEOPLE: Final = tuple(map(Path, ("/run/user", "/var/tmp")))  # noqa: S108 - named, and nothing is written there


def render(name: str, pool: Pool) -> str:
    """One entry for each worker that stays, ready or not: what is not scraped would be missing to the autoscaler.

    Samples are joined by `instance_id` before `instance`: a port may be another worker's by now, a name never is.
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
    """Why it could not be written because of its folder, and what to do; None: nothing is known."""
    return None if file is None else files.unwritable(file)


def not_written(file: Path, error: OSError) -> str:
    """What to say of a file that could not be written: what follows, why, and what to do."""
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR:
            remedy = f"create the folder {file.parent}, writable for the daemon"
        case errno.EACCES | errno.EPERM:
            remedy = f"make the folder {file.parent} writable for the daemon's user"
        case errno.EROFS:
            remedy = f"write it elsewhere, as in /run/autoscaler, or give the service ReadWritePaths={file.parent}"
        case errno.ENOSPC | errno.EDQUOT:
            remedy = "make room"
        case _:
            remedy = "correct targetsFile"
    return f"Prometheus does not learn of the workers: targetsFile {file}: {error.strerror}; {remedy}"


def unreadable(file: Path | None) -> str | None:
    """Why a Prometheus could not read it, where it is in a service's folder; None: nothing is known.

    Whoever has it in a folder of their own, a home or a temporary one, mostly runs Prometheus as the same user.
    """
    closed = None if file is None else files.closed_folder(file)
    if file is None or closed is None or not _is_in(closed[0], _OF_SERVICES) or _is_in(closed[0], _OF_PEOPLE):
        return None
    return files.unreadable_for_others(file)


def _is_in(folder: Path, places: Iterable[Path]) -> bool:
    return any(place in (folder, *folder.parents) for place in places)
