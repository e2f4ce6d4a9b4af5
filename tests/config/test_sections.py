"""Sections of a configuration that may be omitted, and the keys of shadows and of shared states."""

from datetime import timedelta

import pytest

from autoscaler import model
from autoscaler.config import HaSettings, PrometheusSource, Tls
from tests.config.conftest import Load
from tests.config.test_load import HEAD, scaler
from tests.replaced import replace


def test_a_section_without_a_value_has_its_defaults(load_text: Load) -> None:
    """Kubernetes reads null like this."""
    empty = load_text("autoscalers: []\nprometheus:\nqueries:\nadapters:\nstate:\nlog:\nweb:\ncontroller:\n")
    assert replace(empty, digest="") == replace(load_text("autoscalers: []\n"), digest="")
    source = load_text("autoscalers: []\nprometheus: {p: {url: 'http://h', timeout: , tls: {caFile: }}}\n").prometheus[
        "p"
    ]
    assert source == PrometheusSource("http://h", tls=Tls())


def test_a_listen_address_needs_no_host(load_text: Load) -> None:
    """The flag `--web.listen-address` and Prometheus accept it without one."""
    assert load_text("autoscalers: []\nweb: {listenAddress: ':9797'}\n").web.listen_address == ":9797"


def test_a_dry_run_has_a_shadow_by_default(load_text: Load) -> None:
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


def test_the_host_of_a_pool_is_not_passed_to_the_adapter(load_text: Load) -> None:
    """An adapter with its own key `host` receives that."""
    settings = load_text(
        "autoscalers: []\nstate: {url: 'postgresql://db/a'}\n"
        "adapters: {a: {type: process, host: vm-1, pools: {web: {command: x}}}, b: {type: docker-swarm, host: 'tcp://b:1'}}\n"
    )
    assert [settings.adapters[name].host for name in ("a", "b")] == ["vm-1", None]
    assert settings.adapters["b"].settings.host == "tcp://b:1"  # type: ignore[attr-defined]  # the adapter's own settings


def test_leases_have_the_durations_of_kubernetes_leader_election(load_text: Load) -> None:
    shared = "autoscalers: []\nstate: {url: 'postgresql://db/a'}\n"
    assert load_text(shared).ha == HaSettings(timedelta(seconds=15), timedelta(seconds=10), timedelta(seconds=2))
    assert load_text(shared + "ha: {leaseDuration: 3s, renewDeadline: 2s, retryPeriod: 500ms}\n").ha == HaSettings(
        timedelta(seconds=3), timedelta(seconds=2), timedelta(milliseconds=500)
    )
