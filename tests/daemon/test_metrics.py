"""The metrics of a real daemon, scraped by a real Prometheus."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.daemon.running import RunningDaemon, autoscaler, running_daemon, write_config
from tests.servers.ports import free_port
from tests.servers.prometheus import PrometheusServer, running_prometheus, static

pytestmark = pytest.mark.slow


@pytest.fixture
def port() -> int:
    """The port of the daemon's metrics."""
    return free_port()


@pytest.fixture
def scraper(tmp_path: Path, port: int) -> Iterator[PrometheusServer]:
    """A Prometheus that the daemon queries and that scrapes the daemon."""
    (tmp_path / "prometheus").mkdir()
    with running_prometheus(tmp_path / "prometheus", [static("autoscaler", f"127.0.0.1:{port}")]) as server:
        yield server


@contextmanager
def daemon_on(port: int, config: Path) -> Iterator[RunningDaemon]:
    with running_daemon(config, f"--web.listen-address=127.0.0.1:{port}") as daemon:
        daemon.wait_for("ready")
        yield daemon
        assert daemon.stop() == 0


def test_metrics_show_a_rescale_from_the_query_to_the_write(folder: Path, port: int, scraper: PrometheusServer) -> None:
    """Every boundary has metrics: shard, query, adapter, decision, state."""
    config = write_config(folder, scraper.url, [autoscaler("web", "vector(3)", syncPeriod="4s")])
    with daemon_on(port, config):
        for expr in (
            'autoscaler_reconciliations_total{action="scale_up", error="none"} == 1',
            'autoscaler_metric_computation_total{action="scale_up", error="none", metric_type="External"} == 1',
            'autoscaler_metric_computation_duration_seconds_sum{action="scale_up"} > 0',
            'autoscaler_rescales_total{autoscaler="web", action="scale_up"} == 1',
            'autoscaler_writes_total{outcome="written"} == 1',
            'autoscaler_current_replicas{autoscaler="web"} == 3',
            'autoscaler_desired_replicas{autoscaler="web"} == 3',
            'autoscaler_max_replicas{autoscaler="web"} == 5',
            'autoscaler_metric_value{autoscaler="web", metric="queue"} == 1',  # 3 on average over 3
            'autoscaler_condition{autoscaler="web", condition="ScalingActive", reason="ValidMetricFound"} == 1',
            'time() - autoscaler_last_success_timestamp_seconds{autoscaler="web"} < 30',
            'autoscaler_tick_duration_seconds_count{adapter="local"} > 2',
            'autoscaler_tick_duration_seconds_sum{adapter="local"} > 0',
            'autoscaler_tick_lateness_seconds_sum{adapter="local"} > 0',
            'autoscaler_missed_ticks_total{adapter="local"}',  # a busy machine may miss some
            'autoscaler_shard_hung{adapter="local"} == 0',
            'autoscaler_query_duration_seconds_sum{prometheus="default"} > 0',
            'autoscaler_query_failures_total{prometheus="default"}',
            'autoscaler_adapter_call_duration_seconds_count{adapter="local", operation="observe"} > 2',
            'autoscaler_adapter_call_duration_seconds_count{adapter="local", operation="scale"} == 1',
            "autoscaler_state_size_bytes > 0",
            'autoscaler_build_info{version!=""} == 1',
            "process_resident_memory_bytes > 0",
        ):
            scraper.wait_for(expr)
