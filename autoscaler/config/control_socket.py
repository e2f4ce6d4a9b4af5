"""The addresses at which the daemon answers; the daemon and the commands use them."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from autoscaler.config.document import YamlDocument
from autoscaler.config.source import read

_MAX_PATH: Final = 107
"""Bytes of a Unix socket's path on Linux. Source: unix(7), sun_path."""


def default_socket(environment: Mapping[str, str], state_folder: Path) -> Path:
    """Return control/control.sock in $RUNTIME_DIRECTORY (systemd's), else control.sock in the state folder."""
    if given := environment.get("RUNTIME_DIRECTORY"):
        return Path(given.split(":")[0]) / "control" / "control.sock"  # systemd lists several, separated by colons
    return state_folder / "control.sock"


def normal_path(path: Path) -> Path:
    """Return the path of a socket without `..`, because its length is limited."""
    return Path(os.path.normpath(path))


def check_length(path: Path) -> None:
    """Raise ValueError for a path that is too long for a Unix socket."""
    if (length := len(os.fsencode(path))) > _MAX_PATH:
        raise ValueError(f"the path has {length} bytes, and a Unix socket's at most {_MAX_PATH}; shorten it")


def configured_places(file: Path) -> tuple[Path | None, str | None]:
    """Return `web.controlSocket` and `web.listenAddress` of a file, as a client uses them; None: not given.

    Nothing else in the file is read, so that an operator can pause an autoscaler while the file is being edited. Raises
    ConfigError for a file that cannot be read or is not YAML.
    """
    value = YamlDocument(read(file), str(file)).value
    web = value.get("web") if isinstance(value, dict) else None
    keys = ("controlSocket", "listenAddress")
    path, address = (web.get(key) if isinstance(web, dict) else None for key in keys)
    socket = normal_path(file.absolute().parent / path) if isinstance(path, str) and path else None
    if not isinstance(address, str) or not address:
        return socket, None
    return socket, f"127.0.0.1{address}" if address.startswith(":") else address
