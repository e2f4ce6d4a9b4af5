"""A worker of the demo: it reports its health and its share of the traffic.

The traffic (a number of requests in flight, in the file `traffic`) is spread evenly over the workers that stand in
`workers.json`, which the process adapter keeps. A worker ends when the traffic file is gone.
"""

import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread


def share(traffic: int, ports: list[int], port: int) -> int:
    """Return the whole requests in flight at `port`. The first workers take the rest; 0 before it is listed."""
    if port not in ports:
        return 0
    each, rest = divmod(traffic, len(ports))
    return each + (sorted(ports).index(port) < rest)


def folder() -> Path:
    """The folder of the demo's files."""
    return Path(os.environ["DEMO_FOLDER"])


def own_port() -> int:
    """The port that the process adapter assigned."""
    return int(os.environ["PORT"])


def inflight() -> int:
    """Return this worker's share of the traffic."""
    groups = json.loads((folder() / "workers.json").read_text())
    ports = [int(target.rpartition(":")[2]) for group in groups for target in group["targets"]]
    return share(int((folder() / "traffic").read_text()), ports, own_port())


class Handler(BaseHTTPRequestHandler):
    """GET /healthz answers with the pid, GET /metrics with the load."""

    def do_GET(self) -> None:
        """Answer; 404 for another path."""
        pages = {"/healthz": lambda: f"{os.getpid()}\n", "/metrics": lambda: f"demo_inflight_requests {inflight()}\n"}
        page = pages.get(self.path)
        body = page().encode() if page else b""
        self.send_response(200 if page else 404)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing: scrapes and health checks come every second."""


def main() -> None:
    """Serve until the file `traffic` is removed."""
    with ThreadingHTTPServer(("127.0.0.1", own_port()), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        while (folder() / "traffic").exists():
            time.sleep(0.2)
        server.shutdown()


if __name__ == "__main__":
    main()
