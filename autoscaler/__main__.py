"""The console script `autoscaler`, and `python -m autoscaler`."""

import errno
import os
import sys
from typing import Final

from autoscaler.cli.app import app

_UNUSED: Final = "uvicorn.supervisors.watchfilesreload"
"""uvicorn loads it where watchfiles is installed, to reload code: 1.5 MiB of the daemon's memory."""
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def main() -> None:
    """Run the command line; exits with its code."""
    sys.modules.setdefault(_UNUSED, None)  # type: ignore[arg-type]  # None: its import fails (importlib)
    try:
        app(prog_name="autoscaler")
    except OSError as error:
        if error.errno not in _FULL or error.filename is not None:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left of it would fail again at the end
        sys.stderr.write(f"the output cannot be written: {error.strerror}\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
