"""Workers of one pool that share a demand between them, and the daemon's configuration for them."""

import sys
from pathlib import Path
from typing import Any, Final

from tests.servers.ports import port_range

TARGET: Final = 10
SHARE: Final = "demand / scalar(count(demand))"
"""Every worker tells the whole demand; a load balancer would spread it evenly."""


def worker(body: str, *, ready_after: float = 0.0) -> str:
    """A program that serves the bytes of an expression at a port, its first argument."""
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
"""Every worker tells the whole demand, from the file that its second argument names."""
WORKER: Final = worker(DEMAND)


def configuration(prometheus: str, folder: Path) -> dict[str, Any]:
    pool = {
        "command": [sys.executable, str(folder / "worker.py"), "{port}", str(folder / "demand")],
        "env": {"DAEMON_TEST": str(folder)},
        "ports": port_range(),
        "readiness": {"path": "/"},
        "gracePeriod": "1s",
        "targetsFile": str(folder / "targets.json"),
    }
    target = {"type": "AverageValue", "averageValue": TARGET}
    metric = {"type": "Pods", "pods": {"metric": {"name": "load"}, "query": {"expr": SHARE}, "target": target}}
    return {
        "controller": {"syncPeriod": "1s"},
        "prometheus": {"default": {"url": prometheus}},
        "adapters": {"local": {"type": "process", "pools": {"web": pool}}},
        "log": {"decisions": "all"},
        "autoscalers": [
            {
                "name": "web",
                "scaleTargetRef": {"adapter": "local", "name": "web"},
                "minReplicas": 1,
                "maxReplicas": 6,
                "metrics": [metric],
                "behavior": {"scaleDown": {"stabilizationWindowSeconds": 3}},
            }
        ],
    }
