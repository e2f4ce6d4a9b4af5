"""What may be left out of a file."""

from autoscaler.config import PrometheusSource, Tls
from tests.config.conftest import Load
from tests.replaced import replace


def test_a_section_without_a_value_has_its_defaults(load_text: Load) -> None:
    """As Kubernetes reads null."""
    empty = load_text("autoscalers: []\nprometheus:\nqueries:\nadapters:\nstate:\nlog:\nweb:\ncontroller:\n")
    assert replace(empty, digest="") == replace(load_text("autoscalers: []\n"), digest="")
    source = load_text("autoscalers: []\nprometheus: {p: {url: 'http://h', timeout: , tls: {caFile: }}}\n").prometheus[
        "p"
    ]
    assert source == PrometheusSource("http://h", tls=Tls())


def test_a_listen_address_needs_no_host(load_text: Load) -> None:
    """As the flag `--web.listen-address` and Prometheus take it."""
    assert load_text("autoscalers: []\nweb: {listenAddress: ':9797'}\n").web.listen_address == ":9797"
