"""The environment of programs that the daemon starts for an operator: workers, and commands of drains."""

import os
from typing import Final

INHERITED: Final = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR")
"""The variables that such a program inherits. The daemon's other variables may be tokens and systemd's sockets."""


def inherited() -> dict[str, str]:
    """Return the variables of INHERITED that this process has."""
    return {name: os.environ[name] for name in INHERITED if name in os.environ}
