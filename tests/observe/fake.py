"""A fake server that answers each request with a function of the test."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from autoscaler.config.settings import PrometheusSource
from autoscaler.errors import MetricError
from autoscaler.observe.prometheus import Prometheus
from tests.observe.build import CLOCK, NOW, call
from tests.servers import web
from tests.servers.web import Answer, Request

ONE = {
    "status": "success",
    "data": {"resultType": "vector", "result": [{"metric": {}, "value": [NOW.timestamp(), "1"]}]},
}


class Fake:
    """A fake server's URL and its received requests."""

    def __init__(self, url: str, seen: list[Request]) -> None:
        self.url = url
        self.seen = seen

    def ask(self, expr: str = "q", seconds: float = 10.0, **source: Any) -> Any:
        client = Prometheus("main", PrometheusSource(self.url, **source), CLOCK)
        try:
            return client.query(expr, NOW, call(seconds).deadline)
        finally:
            client.close()

    def refusal(self, **how: Any) -> str:
        with pytest.raises(MetricError) as caught:
            self.ask(**how)
        return str(caught.value)


@contextmanager
def answering(answer: Callable[[Request], Answer | None]) -> Iterator[Fake]:
    """Run a fake server that answers with this function."""
    seen = list[Request]()

    def note(request: Request) -> Answer | None:
        seen.append(request)
        return answer(request)

    with web.answering(note) as url:
        yield Fake(url, seen)
