"""Links from a query to the page of the Prometheus that is asked."""

from urllib.parse import parse_qs, urlsplit

import pytest

from autoscaler.config.settings import PrometheusSource
from autoscaler.documents.links import query_address
from autoscaler.model import Query

HERE = PrometheusSource("http://localhost:9090")


def test_a_query_is_shown_where_it_is_asked() -> None:
    """Without any configuration the link works wherever the daemon's own address does."""
    address = query_address(Query('sum by (pod) (rate(x{a="1&b"}[5m]))'), {"default": HERE})

    assert address is not None
    parts = urlsplit(address)
    assert (parts.scheme, parts.netloc, parts.path) == ("http", "localhost:9090", "/graph")
    assert parse_qs(parts.query)["g0.expr"] == ['sum by (pod) (rate(x{a="1&b"}[5m]))']


@pytest.mark.parametrize("external", ["https://prometheus.example.org/eu", "https://prometheus.example.org/eu/"])
def test_browsers_are_led_to_the_external_address(external: str) -> None:
    """What the daemon calls localhost is another machine to whoever looks at the page."""
    source = PrometheusSource("http://localhost:9090", external_url=external)

    address = query_address(Query("up"), {"default": source}) or ""

    assert address.startswith("https://prometheus.example.org/eu/graph?g0.expr=up&")


def test_a_source_that_left_the_configuration_has_no_link() -> None:
    """An address that leads nowhere is worse than none."""
    assert query_address(Query("up", prometheus="gone"), {"default": HERE}) is None


def test_an_address_that_servers_would_refuse_is_not_offered() -> None:
    """Expressions may be a megabyte long; addresses may not."""
    assert query_address(Query("x" * 10_000), {"default": HERE}) is None
