"""A real past: what ran, simulated, comes to what it came to."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.daemon.running import end_workers, mark, run_command, running_daemon
from tests.servers.files import replace_text
from tests.servers.ports import free_ports
from tests.servers.prometheus import file_sd, running_prometheus

pytestmark = pytest.mark.slow

WORKER: Final = """
import http.server, pathlib, sys, time

ready_at = time.monotonic() + 2.0

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        ready = time.monotonic() >= ready_at
        body = pathlib.Path(sys.argv[2]).read_bytes() if ready else b""
        self.send_response(200 if ready else 503)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
"""Exposes the whole demand, from the file in its second argument, two seconds after its start."""
_CYCLES = 40


def configuration(folder: Path, prometheus: str) -> dict[str, Any]:
    target = {"type": "AverageValue", "averageValue": 10}
    pool = {
        "command": [sys.executable, str(folder / "worker.py"), "{port}", str(folder / "demand")],
        "env": mark(folder),
        "ports": free_ports(),
        "readiness": {"path": "/"},
        "gracePeriod": "1s",
        "targetsFile": str(folder / "targets.json"),
    }
    load = {"metric": {"name": "load"}, "query": {"expr": "max(demand)"}, "target": target}
    return {
        "controller": {"syncPeriod": "1s"},
        "prometheus": {"default": {"url": prometheus, "timeout": "1s"}},
        "adapters": {"local": {"type": "process", "pools": {"web": pool}}},
        "log": {"decisions": "all"},
        "autoscalers": [
            {
                "name": "web",
                "scaleTargetRef": {"adapter": "local", "name": "web"},
                "minReplicas": 1,
                "maxReplicas": 6,
                "metrics": [{"type": "External", "external": load}],
                "behavior": {"scaleDown": {"stabilizationWindowSeconds": 4}},
            }
        ],
    }


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a daemon whose load rose and fell. Its workers take two seconds to become ready."""
    folder = tmp_path_factory.mktemp("life")
    (folder / "worker.py").write_text(WORKER)
    (folder / "demand").write_text("demand 5\n")
    try:
        with running_prometheus(folder, [file_sd("web", folder / "targets.json")], interval="200ms") as prometheus:
            path = folder / "autoscaler.yaml"
            path.write_text(yaml.safe_dump(configuration(folder, prometheus.url)))
            with running_daemon(path) as daemon:
                daemon.wait_for("decision", autoscaler="web", reason="ReadyForNewScale")
                for demand, size in ((29, 3), (5, 1), (45, 5)):
                    replace_text(folder / "demand", f"demand {demand}\n")
                    daemon.wait_for("decision", autoscaler="web", written=size)
                daemon.wait_for("decision", count=_CYCLES, autoscaler="web")
                assert daemon.stop() == 0
        yield folder
    finally:
        end_workers(folder)


def replayed(folder: Path, *more: str) -> Any:
    config = f"--config.file={folder}/autoscaler.yaml"
    done = run_command("replay", "web", config, "-o", "json", *more, state=folder / "state")
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)["replays"]
    return found


def test_the_unchanged_file_comes_to_what_was(lived: Path) -> None:
    """Otherwise no figure of another file means anything."""
    found = replayed(lived)
    assert found["same"] == found["compared"] >= _CYCLES
    assert found["startUp"]["source"] == "instances"
    assert found["startUp"]["seconds"] >= 1
    fit = found["fit"]
    assert fit["holds"], fit
    was, unchanged = (each["measures"] for each in found["candidates"])
    assert unchanged["unserved"] == pytest.approx(was["unserved"], abs=0.01)
    assert unchanged["instanceHours"] == pytest.approx(was["instanceHours"], rel=0.03)
    assert was["changes"] > 0  # a busy machine leaves gaps, and a change across a gap does not count


def test_a_smaller_maximum_leaves_more_unserved(lived: Path) -> None:
    """The figures of a candidate say what it would have cost."""
    whole = yaml.safe_load((lived / "autoscaler.yaml").read_text())
    whole["autoscalers"][0]["maxReplicas"] = 2
    smaller = lived / "smaller.yaml"
    smaller.write_text(yaml.safe_dump(whole))
    was, less = (each["measures"] for each in replayed(lived, f"--candidate={smaller}")["candidates"])
    assert less["instanceHours"] < was["instanceHours"]
    assert less["unserved"] > was["unserved"]
