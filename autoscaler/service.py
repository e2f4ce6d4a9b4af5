"""Where the service of the packages has its files. A command without options looks there first."""

from pathlib import Path
from typing import Final

CONFIG: Final = Path("/etc/autoscaler/autoscaler.yaml")
CONTROL_SOCKET: Final = Path("/run/autoscaler/control/control.sock")
STATE_FOLDER: Final = Path("/var/lib/autoscaler")
"""A shell does not have the service's $STATE_DIRECTORY."""


def has_configuration() -> bool:
    """Return whether the service has a configuration. True also if this user may not look: reading it then says why."""
    try:
        return CONFIG.exists()
    except PermissionError:
        return True
