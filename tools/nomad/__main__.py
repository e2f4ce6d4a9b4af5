"""Print where Nomad is, building it first where needed; 1 with a sentence on stderr when there is none."""

import signal
import sys

from tools.nomad import NomadNotFound, nomad_binary


def main() -> int:
    """The exit code."""
    try:
        sys.stdout.write(f"{nomad_binary()}\n")
    except NomadNotFound as missing:
        sys.stderr.write(f"{missing}\n")
        return 1
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that a build under way is ended, too
    sys.exit(main())
