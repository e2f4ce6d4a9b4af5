"""Whether the client requests gzip."""

import pytest

from autoscaler.config.settings import Compression, PrometheusSource
from autoscaler.observe.client import compressed
from tests.observe.fake import ONE, answering


@pytest.mark.parametrize(
    ("compression", "encoding"),
    [(Compression.AUTO, "identity"), (Compression.ON, "gzip"), (Compression.OFF, "identity")],
)
def test_a_server_on_this_machine_is_asked_for_plain_answers(compression: Compression, encoding: str) -> None:
    """Compression took three times as long as the query."""
    with answering(lambda request: request.reply(ONE)) as fake:
        fake.ask(compression=compression)
        assert [each.headers.get_all("Accept-Encoding") for each in fake.seen] == [[encoding]]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://localhost:9090", False),
        ("http://127.0.0.1:9090/prefix", False),
        ("http://[::1]:9090", False),
        ("http://127.8.8.8", False),
        ("http://10.0.0.1:9090", True),
        ("https://prometheus.internal", True),
        ("http://localhost.example.org", True),
    ],
)
def test_auto_is_gzip_for_every_other_server(url: str, expected: bool) -> None:
    assert compressed(PrometheusSource(url)) is expected
