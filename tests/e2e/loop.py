"""Workers of one pool that share a demand."""

import sys
from functools import cache
from pathlib import Path
from typing import Any, Final

from tests.daemon.running import mark
from tests.servers.ports import free_ports

TARGET: Final = 10
SHARE: Final = "demand / scalar(count(demand))"
"""Every worker exposes the whole demand, as a load balancer would divide it evenly."""


def worker(body: str, *, ready_after: float = 0.0) -> str:
    """Return a program that serves the bytes of an expression at a port, its first argument."""
    return f"""
import http.server, pathlib, sys, time

ready_at = time.monotonic() + {ready_after}

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        ready = time.monotonic() >= ready_at
        body = {body} if ready else b""
        self.send_response(200 if ready else 503)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


DEMAND: Final = "pathlib.Path(sys.argv[2]).read_bytes()"
"""Every worker exposes the whole demand, from the file in its second argument."""
WORKER: Final = worker(DEMAND)


@cache
def _ports(folder: Path) -> str:
    """Return the ports of all pools of a configuration, the same for each write of it."""
    return free_ports()


def pool(folder: Path, targets_file: str = "targets.json", **more: Any) -> dict[str, Any]:
    """Return a pool of the program `worker.py` in the folder."""
    return {
        "command": [sys.executable, str(folder / "worker.py"), "{port}", str(folder / "demand")],
        "env": mark(folder),
        "ports": _ports(folder),
        "readiness": {"path": "/"},
        "gracePeriod": "1s",
        "targetsFile": str(folder / targets_file),
    } | more
