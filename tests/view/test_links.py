"""Links from a query to the page of its Prometheus."""

from urllib.parse import parse_qs, urlsplit

import pytest

from autoscaler.config.settings import PrometheusSource
from autoscaler.model import Query
from autoscaler.view.rules import query_address

HERE = PrometheusSource("http://localhost:9090")


def test_a_link_leads_to_the_configured_address() -> None:
    address = query_address(Query('sum by (pod) (rate(x{a="1&b"}[5m]))'), {"default": HERE})

    assert address is not None
    parts = urlsplit(address)
    assert (parts.scheme, parts.netloc, parts.path) == ("http", "localhost:9090", "/graph")
    assert parse_qs(parts.query)["g0.expr"] == ['sum by (pod) (rate(x{a="1&b"}[5m]))']


@pytest.mark.parametrize("external", ["https://prometheus.example.org/eu", "https://prometheus.example.org/eu/"])
def test_a_link_uses_the_external_url(external: str) -> None:
    """The daemon's localhost is another machine for a browser."""
    source = PrometheusSource("http://localhost:9090", external_url=external)

    address = query_address(Query("up"), {"default": source}) or ""

    assert address.startswith("https://prometheus.example.org/eu/graph?g0.expr=up&")


def test_a_removed_source_has_no_link() -> None:
    assert query_address(Query("up", prometheus="gone"), {"default": HERE}) is None


def test_an_address_that_is_too_long_is_omitted() -> None:
    """Expressions may be a megabyte long; servers refuse such addresses."""
    assert query_address(Query("x" * 10_000), {"default": HERE}) is None
