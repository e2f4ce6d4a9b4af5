"""A small fleet on a real Prometheus, which counts its queries.

`make bench-fleet` measures times.
"""

import re

import pytest
import requests

from bench.fleet.daemon import running_fleet_daemon
from bench.fleet.world import Fleet, Queries, running_fleet

pytestmark = pytest.mark.slow

GROUPS, INSTANCES = 300, 10


def asked(fleet: Fleet) -> int:
    """Return the number of queries that Prometheus has answered so far."""
    text = requests.get(f"{fleet.prometheus.url}/metrics", timeout=10).text
    of_queries = r'^prometheus_http_requests_total{code="\d+",handler="/api/v1/query"} (\d+)$'
    counts = re.findall(of_queries, text, re.MULTILINE)
    return sum(map(int, counts))


@pytest.mark.parametrize(("queries", "most"), [(Queries.SHARED, 1), (Queries.OWN, 2)])
def test_a_fleet_needs_a_few_queries_a_cycle(queries: Queries, most: int) -> None:
    """Other autoscalers send a request for each. Here the load of every autoscaler is read, too."""
    with running_fleet(GROUPS, INSTANCES) as fleet:
        document = fleet.configuration(queries, controller={"syncPeriod": "2s"})
        with running_fleet_daemon(document) as daemon:
            before, begun = asked(fleet), len(daemon.events("cycle_ended"))
            ended = daemon.cycles(begun + 4)
            per_cycle = (asked(fleet) - before) / (len(daemon.events("cycle_ended")) - begun)
            assert {line["autoscalers"] for line in ended} == {GROUPS}
            assert 0 < per_cycle < most + 1.5, per_cycle  # the cycles at both ends may have asked before or after
            late = "tick_missed"  # a busy machine's
            assert [line for line in daemon.trouble() if line["event"] != late] == []
