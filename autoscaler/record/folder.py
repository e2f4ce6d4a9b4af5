"""The state's folder on this machine, and private files in it."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from autoscaler.errors import StateError
from autoscaler.net.files import open_or_create


def state_folder(environment: Mapping[str, str]) -> Path:
    """Return $STATE_DIRECTORY (systemd's), else $XDG_STATE_HOME/autoscaler, else ~/.local/state/autoscaler."""
    if given := environment.get("STATE_DIRECTORY"):
        return Path(given.split(":")[0])  # systemd lists several, separated by colons
    return Path(environment.get("XDG_STATE_HOME") or "~/.local/state").expanduser() / "autoscaler"


def daemons_folder(environment: Mapping[str, str], service: Path) -> Path:
    """Return the state folder that a command is about: $STATE_DIRECTORY, else the service's or this user's.

    A shell does not have the service's $STATE_DIRECTORY. Of the two defaults the one that holds a state is returned;
    if neither does, the one that exists, else this user's. Raises StateError if that leaves both.
    """
    own = state_folder(environment)
    if environment.get("STATE_DIRECTORY"):
        return own
    exist = [folder for folder in (service, own) if _may_hold(folder)]
    hold = [folder for folder in exist if _may_hold(folder / "state.db")] or exist
    if len(hold) > 1 and os.path.realpath(service) != os.path.realpath(own):
        raise StateError(
            f"two state folders exist: {service}, the service's, and {own}, of a daemon that this user ran; name one "
            f"as in STATE_DIRECTORY={service}, or name the state in the configuration (state.url)"
        )
    return hold[0] if hold else own


def _may_hold(path: Path) -> bool:
    """Return whether the path exists, or may exist where this user may not look."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def make_folder(folder: Path) -> Path:
    """Create the folder and its parents if absent, accessible to this user only. Raises StateError."""
    try:
        make_private_folder(folder)
    except OSError as error:
        raise StateError(
            f"{folder}: the state folder cannot be created: {error.strerror}; set $STATE_DIRECTORY to another folder"
        ) from None
    return folder


def make_private_folder(folder: Path) -> None:
    """Create the folder and its parents if absent, all of them private: `mkdir` uses the umask for parents.

    Raises OSError.
    """
    for each in reversed([folder, *folder.parents]):
        if not each.exists():
            each.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(exist_ok=True)


def open_private(path: Path) -> int:
    """Return a descriptor of the file to read and append. Creates it if absent, for this user only. Raises OSError."""
    how = os.O_RDWR | os.O_APPEND | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    handle = open_or_create(path, how, 0o600)
    with suppress(OSError):  # another user's file that this user may write
        os.fchmod(handle, 0o600)
    return handle


def make_private(path: Path) -> None:
    """Create an SQLite file if absent, and make it and SQLite's files beside it private.

    SQLite gives later files the same mode. Failures are ignored, because SQLite reports them when it opens the file.
    """
    with suppress(OSError):
        os.close(open_private(path))
    for suffix in ("-wal", "-shm", "-journal"):
        with suppress(OSError):
            path.with_name(path.name + suffix).chmod(0o600)


def remove_database(path: Path) -> None:
    """Remove an SQLite file and SQLite's files beside it. Raises OSError."""
    for suffix in ("", "-journal", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
