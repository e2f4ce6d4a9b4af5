"""A daemon of the rehearsals: `python -m autoscaler`, with its own machine's clocks and its own ways to the back ends.

Each of its requests has a header with the last time at which its thread read a clock, unless it
has got an answer since. Every check of a lease or a deadline reads a clock, so the last check was not later.

All hosts call a back end by the same address, as real ones do, and each has a proxy of its own before it.

The environment may name a bug to plant (`plants`), which the judge must find.
"""

import json
import os
import sys
from pathlib import Path
from typing import Final

PROGRAM: Final = (str(Path(__file__).resolve()),)
"""The arguments of the interpreter in place of `-m autoscaler`."""
PLANTED: Final = "REHEARSAL_PLANTED"
"""The environment variable with a bug's name."""
WAYS: Final = "REHEARSAL_WAYS"
"""The environment variable with the port of 127.0.0.1 of each host name, as a JSON object."""
_ROOT: Final = Path(__file__).resolve().parents[2]


def _note_looks() -> None:
    import threading
    from collections.abc import Callable
    from http.client import HTTPConnection, HTTPResponse
    from typing import Any

    from autoscaler.clock import SystemClock
    from rehearse.hosts.recorder import CHECKED, now_micros

    last = threading.local()

    def noted(look: Callable[[SystemClock], Any]) -> Any:
        def looked(clock: SystemClock) -> Any:
            last.look = now_micros()
            return look(clock)

        return looked

    end, get = HTTPConnection.endheaders, HTTPConnection.getresponse

    def end_headers(connection: HTTPConnection, *parts: Any, **options: Any) -> None:
        if getattr(last, "look", None) is not None:
            connection.putheader(CHECKED, str(last.look))
        end(connection, *parts, **options)

    def get_response(connection: HTTPConnection) -> HTTPResponse:
        try:
            return get(connection)
        finally:
            last.look = None

    for name in ("now", "monotonic", "moment"):
        setattr(SystemClock, name, noted(getattr(SystemClock, name)))
    # the point of this program
    HTTPConnection.endheaders = end_headers  # type: ignore[method-assign, assignment]
    HTTPConnection.getresponse = get_response  # type: ignore[method-assign, assignment]


def _go_own_ways() -> None:
    import socket
    from typing import Any

    ways, look_up = json.loads(os.environ[WAYS]), socket.getaddrinfo

    def getaddrinfo(host: Any, port: Any, *options: Any, **named: Any) -> Any:
        return (
            look_up("127.0.0.1", ways[host], *options, **named)
            if host in ways
            else look_up(host, port, *options, **named)
        )

    socket.getaddrinfo = getaddrinfo


if __name__ == "__main__":
    sys.path[0] = str(_ROOT)  # not this file's folder: modules would be found there under the names of real ones
    from autoscaler.__main__ import main
    from rehearse.hosts.plants import PLANTS
    from tests.servers import stepped_clock

    stepped_clock.install()
    _note_looks()
    _go_own_ways()
    if PLANTED in os.environ:
        PLANTS[os.environ[PLANTED]]()
    main()
