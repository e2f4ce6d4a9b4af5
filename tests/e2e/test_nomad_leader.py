"""The leader of three Nomad servers ends while a daemon scales a job."""

from pathlib import Path
from typing import Any, Final

import pytest

from tests.daemon.running import autoscaler, running_daemon, write_config
from tests.servers.nomad import service
from tests.servers.nomad_servers import NomadServers, running_servers

pytestmark = pytest.mark.slow

SIZES: Final = {2, 3}
DEMAND: Final = "2 + floor(vector(time()) / 5) % 2"
"""Another one of the sizes every five seconds."""
AT_ONCE: Final = {
    "scaleUp": {"policies": [{"type": "Pods", "value": 10, "periodSeconds": 1}]},
    "scaleDown": {"stabilizationWindowSeconds": 0},
}


class Events:
    """All scaling events of the job. Nomad keeps the last twenty alone."""

    def __init__(self, servers: NomadServers) -> None:
        self._servers = servers
        self._seen: dict[int, dict[str, Any]] = {}

    def look(self) -> list[dict[str, Any]]:
        """Return them, the oldest first."""
        groups = self._servers.ask("GET", "/v1/job/web/scale")["TaskGroups"]
        self._seen |= {event["CreateIndex"]: event for event in groups["work"]["Events"] or ()}
        return [self._seen[index] for index in sorted(self._seen)]


def test_a_daemon_goes_on_when_the_leader_of_its_servers_ends(tmp_path: Path, prometheus: str) -> None:
    """A write whose answer was lost with the leader is not repeated, and no size is written that nothing asked for."""
    with running_servers(tmp_path) as servers:
        servers.ask("POST", "/v1/jobs", {"Job": service("web", count=1)})
        scaler = autoscaler("web", DEMAND, adapter="nomad", behavior=AT_ONCE, syncPeriod="4s")
        scaler["scaleTargetRef"]["name"] = "web/work"
        section = {"nomad": {"type": "nomad", "addresses": list(servers.urls)}}
        events = Events(servers)
        with running_daemon(write_config(tmp_path, prometheus, [scaler], section)) as daemon:
            daemon.until(lambda: bool(events.look()) and len(daemon.written()) >= 2, "two writes")
            servers.end_leader()
            before = len(daemon.written())
            daemon.until(lambda: bool(events.look()) and len(daemon.written()) >= before + 2, "two more writes")
            assert daemon.stop() == 0
            sizes = daemon.written()
        counts = [event["Count"] for event in events.look()]
        before_each = [event["PreviousCount"] for event in events.look()]
        assert servers.ask("GET", "/v1/job/web")["TaskGroups"][0]["Count"] == counts[-1]
    assert set(counts) <= SIZES
    assert [1, *counts[:-1]] == before_each, "the job was changed otherwise"
    assert [pair for pair in zip(before_each, counts, strict=True) if pair[0] == pair[1]] == []
    remaining = iter(counts)
    assert all(size in remaining for size in sizes), f"{sizes} written, {counts} recorded"
