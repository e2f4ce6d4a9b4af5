"""A local process for each instance that the server launches. Prometheus finds them in a file_sd file."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.servers.ports import free_port

_SERVE: Final = """
import http.server, pathlib, sys
port, demand = int(sys.argv[1]), pathlib.Path(sys.argv[2])
class Metrics(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = f"demand {demand.read_text()}\\n".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
http.server.HTTPServer(("127.0.0.1", port), Metrics).serve_forever()
"""
_ENDS_WITHIN_SECONDS: Final = 10


class Workers:
    """Each process exposes the demand in the file `demand`. `launch` and `end` are the world's callbacks."""

    def __init__(self, folder: Path) -> None:
        self.demand = folder / "demand"
        self.targets = folder / "workers.json"
        self._processes: dict[str, tuple[subprocess.Popen[bytes], int]] = {}
        self._tell()

    @property
    def running(self) -> set[str]:
        """Return the ids of the instances with a running process."""
        return {one for one, (process, _) in self._processes.items() if process.poll() is None}

    def launch(self, instance_id: str) -> None:
        port = free_port()
        command = [sys.executable, "-c", _SERVE, str(port), str(self.demand)]
        self._processes[instance_id] = (subprocess.Popen(command, stdin=subprocess.DEVNULL), port)
        self._tell()

    def end(self, instance_id: str) -> None:
        process, _ = self._processes.pop(instance_id)
        process.terminate()
        process.wait(_ENDS_WITHIN_SECONDS)
        self._tell()

    def close(self) -> None:
        for one in list(self._processes):
            self.end(one)

    def _tell(self) -> None:
        entries = [
            {"targets": [f"127.0.0.1:{port}"], "labels": {"instance_id": one}}
            for one, (_, port) in self._processes.items()
        ]
        fresh = self.targets.with_suffix(".new")
        fresh.write_text(json.dumps(entries))
        fresh.replace(self.targets)
