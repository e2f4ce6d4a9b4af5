"""Where the state is on this machine."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from autoscaler.errors import StateError


def state_folder(environment: Mapping[str, str]) -> Path:
    """$STATE_DIRECTORY (systemd's), else $XDG_STATE_HOME/autoscaler, else ~/.local/state/autoscaler."""
    if given := environment.get("STATE_DIRECTORY"):
        return Path(given.split(":")[0])  # systemd lists several, separated by colons
    return Path(environment.get("XDG_STATE_HOME") or "~/.local/state").expanduser() / "autoscaler"


def make_folder(folder: Path) -> Path:
    """The folder, made if absent, with those it is in, for this user alone. Raises StateError."""
    try:
        make_private_folder(folder)
    except OSError as error:
        raise StateError(
            f"{folder}: the state folder cannot be made: {error.strerror}; set $STATE_DIRECTORY to one that can"
        ) from None
    return folder


def make_private_folder(folder: Path) -> None:
    """The same, with its parents: `mkdir` would give those what the umask leaves. Raises OSError."""
    for each in reversed([folder, *folder.parents]):
        if not each.exists():
            each.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(exist_ok=True)


def open_private(path: Path) -> int:
    """The file, made if absent, for this user alone whatever the umask: a file descriptor to read and write at its end.

    What root makes in the service's folder is the service's, which could not open it otherwise. Raises OSError.
    """
    how = os.O_RDWR | os.O_APPEND | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        handle = os.open(path, how | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        handle = os.open(path, how | os.O_CREAT, 0o600)
    else:  # a new file: only of such a one is it certain that it is in this folder
        if os.geteuid() == 0:
            folder = path.parent.stat()
            os.fchown(handle, folder.st_uid, folder.st_gid)
    with suppress(OSError):  # another user's, who has let us in
        os.fchmod(handle, 0o600)
    return handle


def make_private(path: Path) -> None:
    """An SQLite file, made if absent, and what SQLite has put beside it: what it makes later has the file's own mode.

    What cannot be done here, SQLite will say when it opens the file.
    """
    with suppress(OSError):
        os.close(open_private(path))
    for suffix in ("-wal", "-shm", "-journal"):
        with suppress(OSError):
            path.with_name(path.name + suffix).chmod(0o600)


def remove_database(path: Path) -> None:
    """Remove an SQLite file, with what SQLite has put beside it. Raises OSError."""
    for suffix in ("", "-journal", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Have the disk store a file's content, or a folder's names. Raises OSError."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
