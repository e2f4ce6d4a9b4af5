"""A small fleet on a real Prometheus, which counts its queries.

`make bench-fleet` measures times.
"""

import re

import pytest
import requests

from bench.fleet.daemon import running_fleet_daemon
from bench.fleet.world import Fleet, Queries, running_fleet
from tests.waiting import until

pytestmark = pytest.mark.slow

GROUPS, INSTANCES = 300, 10


def asked(fleet: Fleet) -> int:
    """Return the number of queries that Prometheus has answered so far."""
    text = requests.get(f"{fleet.prometheus.url}/metrics", timeout=10).text
    of_queries = r'^prometheus_http_requests_total{code="\d+",handler="/api/v1/query"} (\d+)$'
    counts = re.findall(of_queries, text, re.MULTILINE)
    return sum(map(int, counts))


def test_a_fleet_with_queries_of_its_own_needs_a_few_a_cycle() -> None:
    """Other autoscalers send a request for each. Here the load of every autoscaler is read, too."""
    with running_fleet(GROUPS, INSTANCES) as fleet:
        document = fleet.configuration(Queries.OWN, controller={"syncPeriod": "4s"})
        with running_fleet_daemon(document) as daemon:

            def trouble() -> int:
                return sum(line["event"] != "tick_missed" for line in daemon.trouble())

            def per_cycle() -> float:
                """Return the queries of each of four cycles; 0: a busy machine was late with one."""
                before, begun, disturbed = asked(fleet), len(daemon.events("cycle_ended")), trouble()
                ended = daemon.cycles(begun + 4)
                each = (asked(fleet) - before) / (len(daemon.events("cycle_ended")) - begun)
                assert {line["autoscalers"] for line in ended} == {GROUPS}
                return 0 if trouble() > disturbed else each

            found = until(per_cycle, "four cycles without a failure", within_seconds=600)
            assert found < 3.5, found  # the cycles at both ends may have asked before or after
