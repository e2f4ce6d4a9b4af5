"""What a dry run's shadow is configured with."""

from datetime import timedelta

import pytest

from autoscaler import model
from tests.config.conftest import Load
from tests.config.test_load import HEAD, scaler


def test_a_dry_run_has_a_shadow_unless_the_controller_says_otherwise(load_text: Load) -> None:
    only = scaler(load_text, head="controller: {shadow: false, startUpSeconds: 90}\n" + HEAD)
    assert (only.options.shadow, only.options.start_up) == (False, timedelta(seconds=90))
    only = scaler(load_text)
    assert (only.options.shadow, only.options.start_up) == (True, timedelta(seconds=60))


@pytest.mark.parametrize(("kind", "key"), [("External", "external"), ("Object", "object")])
def test_a_total_may_be_a_backlog(load_text: Load, kind: str, key: str) -> None:
    body = "metric: {name: q}, query: {expr: q}, target: {type: AverageValue, averageValue: 5}"
    for more, rate in ((", kind: backlog, serviceRate: 500m", 500), (", kind: backlog", None)):
        (metric,) = scaler(load_text, metric=f"{{type: {kind}, {key}: {{{body}{more}}}}}").metrics
        assert (metric.kind, metric.service_rate) == (model.MetricKind.BACKLOG, rate)
    (metric,) = scaler(load_text, metric=f"{{type: {kind}, {key}: {{{body}}}}}").metrics
    assert (metric.kind, metric.service_rate) == (None, None)
