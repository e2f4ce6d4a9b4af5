"""A real job of a real agent with ACL. The daemon scales it with the least policy, by Nomad's own metrics."""

import sys
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.adapters.nomad.harness import documented_policy
from tests.daemon.running import running_daemon
from tests.servers.files import replace_text
from tests.servers.nomad import NomadServer, deployed, running_nomad, service
from tests.servers.prometheus import running_prometheus

pytestmark = pytest.mark.slow

RESERVED_MEGABYTES: Final = 200
QUERY: Final = 'nomad_client_allocs_memory_rss{job="shop"}'
WORKER: Final = """
import os, pathlib, sys, time
folder, me = pathlib.Path(sys.argv[1]), os.environ["NOMAD_ALLOC_ID"]
held = b""
while True:
    (folder / me).touch()
    alive = max(1, sum(time.time() - one.stat().st_mtime < 3 for one in folder.iterdir()))
    share = int(float((folder.parent / "demand").read_text()) * 1_000_000 / alive)
    if len(held) != share:
        held = b""
        held = b"x" * share
    time.sleep(0.5)
"""
"""Uses its share of the demand, in MB of memory. The workers find each other by files that they touch."""


def configuration(prometheus: str, address: str, token: Path) -> dict[str, Any]:
    resource = {
        "name": "memory",
        "container": "main",
        "query": {"expr": QUERY},
        "target": {"type": "Utilization", "averageUtilization": 20},
    }
    return {
        "controller": {"syncPeriod": "3s"},  # a busy machine has time for the answer of each write
        "prometheus": {"default": {"url": prometheus}},
        "adapters": {"nomad": {"type": "nomad", "address": address, "tokenFile": str(token)}},
        "log": {"decisions": "all"},
        "autoscalers": [
            {
                "name": "shop",
                "scaleTargetRef": {"adapter": "nomad", "name": "shop/work"},
                "minReplicas": 1,
                "maxReplicas": 4,
                "metrics": [{"type": "ContainerResource", "containerResource": resource}],
                "behavior": {"scaleDown": {"stabilizationWindowSeconds": 5}},
            }
        ],
    }


def _token(nomad: NomadServer, folder: Path) -> Path:
    """Return a file with a token that has the documented rights."""
    nomad.ask("POST", "/v1/acl/policy/autoscaler", {"Name": "autoscaler", "Rules": documented_policy()})
    token = nomad.ask("POST", "/v1/acl/token", {"Type": "client", "Policies": ["autoscaler"]})
    file = folder / "token"
    file.write_text(token["SecretID"])
    return file


def _running(nomad: NomadServer) -> set[str]:
    return {one["ID"] for one in nomad.allocations("shop") if one["ClientStatus"] == "running"}


def test_a_job_under_load_goes_from_one_to_several_and_back(tmp_path: Path) -> None:
    """Samples are joined by alloc_id and compared with a task's reservation. Running allocations stay."""
    (tmp_path / "workers").mkdir()
    demand = tmp_path / "demand"
    replace_text(demand, "0")
    worker = tmp_path / "worker.py"
    worker.write_text(WORKER)
    command = f"exec {sys.executable} {worker} {tmp_path / 'workers'}"
    task = {"Resources": {"CPU": 50, "MemoryMB": RESERVED_MEGABYTES}}
    (tmp_path / "nomad").mkdir()
    with (
        running_nomad(tmp_path / "nomad", acl=True) as nomad,
        running_prometheus(tmp_path, [nomad.scrape()]) as prometheus,
    ):
        nomad.register(service("shop", command=command, task=task, Update=deployed()))
        prometheus.wait_for(f"{QUERY} > 1e6")
        (first,) = _running(nomad)
        config = tmp_path / "autoscaler.yaml"
        config.write_text(yaml.safe_dump(configuration(prometheus.url, nomad.url, _token(nomad, tmp_path))))
        with running_daemon(config) as daemon:
            daemon.wait_for("decision", current=1, desired=1, reason="ReadyForNewScale")
            replace_text(demand, "80")
            daemon.until(lambda: len(_running(nomad)) >= 3, "scale-out")
            assert first in _running(nomad)
            replace_text(demand, "0")
            daemon.until(lambda: len(_running(nomad)) == 1, "scale-in")
            assert daemon.stop() == 0
            written = daemon.written()
        events = nomad.ask("GET", "/v1/job/shop/scale")["TaskGroups"]["work"]["Events"]
    assert max(written) >= 3
    assert written[-1] == 1
    assert [event["Count"] for event in reversed(events)] == written
    assert all(event["Message"] and not event["Error"] for event in events)
