"""One real Prometheus for all tests here, with history up to NOW."""

from collections.abc import Iterator

import pytest

from tests.observe.build import ago
from tests.servers.prometheus import PrometheusServer, openmetrics, running_prometheus


@pytest.fixture(scope="session")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrometheusServer]:
    """`load` of two instances, taken 10 s and 170 s before NOW; `cores`, taken 10 s before."""
    history = openmetrics(
        {
            'load{instance="10.0.0.1:9100"}': [(ago(70), 1.0), (ago(10), 1.5)],
            'load{instance="10.0.0.2:9100"}': [(ago(230), 2.0), (ago(170), 2.5)],
            'cores{instance="10.0.0.1:9100"}': [(ago(10), 4.0)],
            'cores{instance="10.0.0.2:9100"}': [(ago(10), 8.0)],
        }
    )
    with running_prometheus(tmp_path_factory.mktemp("prometheus"), history=history) as server:
        yield server
