"""Sections of a configuration that may be omitted, and the keys of shared states."""

from datetime import timedelta

from autoscaler.config.authentication import Tls
from autoscaler.config.settings import HaSettings, PrometheusSource
from tests.config.conftest import Load
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


def test_leases_have_the_durations_of_kubernetes_leader_election(load_text: Load) -> None:
    shared = "autoscalers: []\nstate: {url: 'postgresql://db/a'}\n"
    assert load_text(shared).ha == HaSettings(timedelta(seconds=15), timedelta(seconds=10), timedelta(seconds=2))
    assert load_text(shared + "ha: {leaseDuration: 3s, renewDeadline: 2s, retryPeriod: 500ms}\n").ha == HaSettings(
        timedelta(seconds=3), timedelta(seconds=2), timedelta(milliseconds=500)
    )
