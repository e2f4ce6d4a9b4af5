"""`autoscaler replay` from Prometheus."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.scene import Scene
from tests.servers.prometheus import PrometheusServer, openmetrics, running_prometheus

pytestmark = pytest.mark.slow

BEGIN = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=3)


def every(value: float) -> list[tuple[datetime, float]]:
    """For one hour."""
    return [(BEGIN + timedelta(seconds=15 * number), value) for number in range(240)]


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrometheusServer]:
    """Two instances, each twice as busy as its target."""
    history = {f'busy{{job="web",instance="{name}:80"}}': every(2.0) for name in ("a", "b")}
    history |= {'autoscaler_current_replicas{autoscaler="pool"}': every(2.0)}
    with running_prometheus(tmp_path_factory.mktemp("prometheus"), history=openmetrics(history)) as server:
        yield server


def config(folder: Path, url: str) -> str:
    target = {"type": "AverageValue", "averageValue": 1}
    metric = {"type": "Pods", "pods": {"metric": {"name": "busy"}, "query": {"expr": "busy"}, "target": target}}
    settings: dict[str, Any] = {
        "prometheus": {"default": {"url": url}, "storage": {"url": url}},
        "adapters": {"fleet": {"type": "memory", "groups": {"pool": {}}}},
        "autoscalers": [
            {
                "name": "pool",
                "scaleTargetRef": {"adapter": "fleet", "name": "pool"},
                "minReplicas": 1,
                "maxReplicas": 10,
                "metrics": [metric],
            }
        ],
    }
    path = folder / "autoscaler.yaml"
    path.write_text(yaml.safe_dump(settings))
    return str(path)


def hour(folder: Path, url: str, *more: str) -> list[str]:
    times = ["--since", BEGIN.isoformat(), "--until", (BEGIN + timedelta(minutes=55)).isoformat()]
    return ["replay", "pool", "--config.file", config(folder, url), *times, *more]


def test_a_past_is_read_from_prometheus(offline: Scene, prometheus: PrometheusServer, tmp_path: Path) -> None:
    """Before a daemon is installed: there is no state. The output names the source and what was inferred."""
    none = {"STATE_DIRECTORY": str(tmp_path / "none")}
    said = offline.run(*hour(tmp_path, prometheus.url, "--prometheus", "storage"), **none)
    assert (said.code, said.err) == (0, "")
    assert "from the prometheus storage: " in said.out
    assert "instances: those with a sample of metric 'busy'" in " ".join(said.out.split())
    assert "Nothing shows whether the simulation fits" in said.out


def test_without_it_a_state_that_lacks_the_time_is_an_error(
    offline: Scene, prometheus: PrometheusServer, tmp_path: Path
) -> None:
    said = offline.run(*hour(tmp_path, prometheus.url))
    assert (said.code, said.out) == (1, "")
    assert "--prometheus NAME reads the past from a source of the configuration instead" in said.err


def test_an_unknown_source_is_an_error_with_a_suggestion(
    offline: Scene, prometheus: PrometheusServer, tmp_path: Path
) -> None:
    said = offline.run(*hour(tmp_path, prometheus.url, "--prometheus", "storages"))
    assert (said.code, said.out) == (1, "")
    assert said.err == f"{tmp_path / 'autoscaler.yaml'} has no prometheus 'storages'; did you mean `storage`?\n"


def test_a_refused_query_for_the_size_is_an_error(offline: Scene, prometheus: PrometheusServer, tmp_path: Path) -> None:
    said = offline.run(*hour(tmp_path, prometheus.url, "--prometheus", "default", "--size", "count("))
    assert said.code == 1
    assert "the query for the size of autoscaler 'pool': prometheus 'default' answered HTTP 400" in said.err
