"""Where the state is on this machine."""

from collections.abc import Mapping
from pathlib import Path

from autoscaler.errors import StateError


def state_folder(environment: Mapping[str, str]) -> Path:
    """$STATE_DIRECTORY (systemd's), else $XDG_STATE_HOME/autoscaler, else ~/.local/state/autoscaler."""
    if given := environment.get("STATE_DIRECTORY"):
        return Path(given.split(":")[0])  # systemd lists several, separated by colons
    return Path(environment.get("XDG_STATE_HOME") or "~/.local/state").expanduser() / "autoscaler"


def make_folder(folder: Path) -> Path:
    """The folder, made if absent, for this user alone. Raises StateError."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StateError(
            f"{folder}: the state folder cannot be made: {error.strerror}; set $STATE_DIRECTORY to one that can"
        ) from None
    return folder
