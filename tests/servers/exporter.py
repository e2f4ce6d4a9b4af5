"""A scrape target whose values the test sets."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.servers.web import Answer, Request, answering


@dataclass(slots=True)
class Exporter:
    """A scrape target. `values` are those of the next scrape: series in exposition format -> value."""

    url: str
    values: dict[str, float] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """Return `host:port`, as in a scrape config."""
        return self.url.removeprefix("http://")


@contextmanager
def running_exporter(values: dict[str, float] | None = None) -> Iterator[Exporter]:
    """Run an exporter on a free port, e.g. of `{'load{worker="a"}': 3.5}`."""
    exporter = Exporter("", dict(values or {}))

    def scrape(_: Request) -> Answer:
        return Answer(200, "".join(f"{series} {value}\n" for series, value in exporter.values.items()).encode())

    with answering(scrape) as exporter.url:
        yield exporter
