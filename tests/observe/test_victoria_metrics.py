"""Queries to a real VictoriaMetrics, whose errors and delays differ from Prometheus'."""

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import requests

from autoscaler.config.authentication import BasicAuth
from autoscaler.model import MetricType
from tests.observe.build import metric, scaler
from tests.observe.scripted import Shard
from tests.servers.ports import free_port
from tests.servers.required import require
from tests.waiting import until

pytestmark = pytest.mark.slow

PASSWORD = "correct horse"


@dataclass(frozen=True, slots=True)
class VictoriaMetrics:
    """One that runs, and the file of its password."""

    url: str
    now: datetime
    """The time of its newest samples."""
    password: Path

    def values(self, *exprs: str, **source: Any) -> list[int | str]:
        """Return what one cycle observes for these expressions: thousandths, or the error's text."""
        scalers = [scaler(metric(MetricType.EXTERNAL, expr), name=f"s{n}") for n, expr in enumerate(exprs)]
        source.setdefault("basic_auth", BasicAuth("scaler", self.password))
        return list(Shard(self, scalers, **source).values(now=self.now).values())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VictoriaMetrics]:
    """`load` of two groups, 3 s ago, and of 40 further groups."""
    program = shutil.which("victoria-metrics")
    if program is None:
        require("victoria-metrics is not on PATH; `make servers` installs it")
    folder, address = tmp_path_factory.mktemp("victoria"), f"127.0.0.1:{free_port()}"
    (folder / "password").write_text(PASSWORD)
    options = (f"-httpListenAddr={address}", f"-storageDataPath={folder}/data", "-search.latencyOffset=1s")
    login = ("-httpAuth.username=scaler", f"-httpAuth.password={PASSWORD}")
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen((program, *options, *login), stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        running = VictoriaMetrics(f"http://{address}", datetime.now(UTC), folder / "password")
        until(lambda: _import(running), "it takes no samples")
        requests.get(f"{running.url}/internal/force_flush", auth=("scaler", PASSWORD), timeout=30).raise_for_status()
        until(lambda: running.values("count(load)")[0] == 42_000, "it does not answer with its samples")
        yield running
    finally:
        process.terminate()
        process.wait(60)


def _import(server: VictoriaMetrics) -> bool:
    at = int((server.now - timedelta(seconds=3)).timestamp() * 1000)
    lines = [f'load{{group="g{n}"}} {n} {at}' for n in range(42)]
    try:
        answer = requests.post(
            f"{server.url}/api/v1/import/prometheus", "\n".join(lines), auth=("scaler", PASSWORD), timeout=5
        )
    except requests.ConnectionError:
        return False
    return answer.ok


def test_similar_queries_are_merged_and_split(server: VictoriaMetrics) -> None:
    """Each autoscaler gets its own samples."""
    exprs = [f'sum by (group) (load{{group="g{n}"}})' for n in range(42)]
    assert server.values(*exprs) == [n * 1000 for n in range(42)]


def test_long_queries_are_posted(server: VictoriaMetrics) -> None:
    """VictoriaMetrics has a limit of 16 kB for a query."""
    assert server.values(f'sum(load{{group!="{"x" * 10_000}"}})') == [861_000]


def test_a_query_that_fails_costs_its_own_autoscaler(server: VictoriaMetrics) -> None:
    """Its `errorType` is the HTTP status, not one of Prometheus' words."""
    wrong, right = server.values("load + on (absent) load", "sum(load)")
    assert "answered HTTP 422: 422: " in str(wrong)
    assert right == 861_000


def test_a_wrong_password_is_named(server: VictoriaMetrics, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("wrong")
    (message,) = server.values("load", basic_auth=BasicAuth("scaler", tmp_path / "password"))
    assert "answered HTTP 401" in str(message)
    assert "check its credentials" in str(message)
