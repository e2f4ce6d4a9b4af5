"""A real Prometheus with the series of a fleet."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final

import requests

from bench.fleet.series import INTERVAL_SECONDS, METRIC, group_name, pages_of
from tests.servers.prometheus import PrometheusServer, running_prometheus

_SCRAPED_WITHIN_SECONDS: Final = 180.0


class Queries(Enum):
    """How the autoscalers query their load."""

    SHARED = "one shared query with `match`"
    OWN = "each its own expression"
    APART = "each its own, of a shape that is never merged"


@dataclass(frozen=True)
class Fleet:
    """`groups` groups of `instances` instances each, and the Prometheus with their load."""

    groups: int
    instances: int
    prometheus: PrometheusServer

    def configuration(self, queries: Queries, **more: Any) -> dict[str, Any]:
        """Return one autoscaler for each group."""
        target = {"type": "AverageValue", "averageValue": 100}
        quick = {"stabilizationWindowSeconds": 0}
        document: dict[str, Any] = {
            "prometheus": {"default": {"url": self.prometheus.url, "timeout": "10s"}},
            "adapters": {"fleet": {"type": "fleet", "initialReplicas": self.instances}},
            "autoscalers": [
                {
                    "name": name,
                    "scaleTargetRef": {"adapter": "fleet", "name": name},
                    "maxReplicas": 2 * self.instances,
                    "metrics": [
                        {
                            "type": "Pods",
                            "pods": {"metric": {"name": "load"}, "query": _query(name, queries), "target": target},
                        }
                    ],
                    "behavior": {"scaleDown": quick, "scaleUp": quick},
                }
                for name in map(group_name, range(self.groups))
            ],
        }
        if queries is Queries.SHARED:
            document["queries"] = {"load": {"expr": METRIC}}
        return document | more


def _query(group: str, queries: Queries) -> dict[str, Any]:
    selector = f'{METRIC}{{group="{group}"}}'
    match queries:
        case Queries.SHARED:
            return {"ref": "load", "match": {"group": group}}
        case Queries.OWN:
            return {"expr": selector}
        case Queries.APART:
            return {"expr": f"sort({selector})"}


@contextmanager
def running_fleet(groups: int, instances: int) -> Iterator[Fleet]:
    """Start a Prometheus that has scraped every series once, and scrapes again every INTERVAL_SECONDS."""
    command = [sys.executable, "-m", "bench.fleet.series", str(groups), str(instances)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with (
        tempfile.TemporaryDirectory(prefix="bench-fleet-") as folder,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as source,
    ):
        try:
            assert source.stdout is not None
            address = f"127.0.0.1:{int(source.stdout.readline())}"
            pages = [
                {"targets": [address], "labels": {"__metrics_path__": f"/{part}"}}
                for part in range(pages_of(groups, instances))
            ]
            interval = f"{INTERVAL_SECONDS}s"
            scrape = {"job_name": "fleet", "honor_labels": True, "scrape_timeout": interval, "static_configs": pages}
            with running_prometheus(Path(folder), [scrape], interval=interval) as prometheus:
                _wait_for(prometheus, groups * instances)
                yield Fleet(groups, instances, prometheus)
        finally:
            source.kill()


def _wait_for(prometheus: PrometheusServer, series: int) -> None:
    end, found = time.monotonic() + _SCRAPED_WITHIN_SECONDS, 0
    while found < series:
        assert time.monotonic() < end, f"{found} of {series} series after {_SCRAPED_WITHIN_SECONDS} s"
        time.sleep(0.5)
        with suppress(requests.Timeout):  # it is busy scraping them
            found = sum(int(each["value"][1]) for each in prometheus.query(f"count({METRIC})"))
