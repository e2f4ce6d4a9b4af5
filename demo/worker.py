"""A worker of the demo: it says that it is well, and how much of the traffic falls to it.

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
    """Requests in flight at `port`: whole ones, the first workers take what is left over. 0 before it is listed."""
    if port not in ports:
        return 0
    each, rest = divmod(traffic, len(ports))
    return each + (sorted(ports).index(port) < rest)


def folder() -> Path:
    """Where the demo's files are."""
    return Path(os.environ["DEMO_FOLDER"])


def own_port() -> int:
    """Where the process adapter wants this worker to listen."""
    return int(os.environ["PORT"])


def inflight() -> int:
    """This worker's share of the traffic now."""
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
        """Nothing: scrapes and health checks come every second."""


def main() -> None:
    """Serve until the traffic is gone."""
    with ThreadingHTTPServer(("127.0.0.1", own_port()), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        while (folder() / "traffic").exists():
            time.sleep(0.2)
        server.shutdown()


if __name__ == "__main__":
    main()
