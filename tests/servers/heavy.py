"""A real Prometheus with forty light groups and one whose expression reads thousands of series, on request."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.servers.prometheus import PrometheusServer, running_prometheus, static
from tests.servers.web import Answer, answering

LIGHT: Final = tuple(f"g{number:02}" for number in range(40))
HEAVY: Final = "heavy"
_SERIES: Final = 15_000


@dataclass
class Groups:
    """The scraped series."""

    prometheus: PrometheusServer
    pages: "_Pages"

    def make(self, *, heavy: bool) -> None:
        """Give the group thousands of series, or one, from the next scrape on. Its queries show it within 20 s."""
        self.pages.heavy = heavy


@dataclass
class _Pages:
    heavy: bool = True

    def __post_init__(self) -> None:
        light = [f'load{{group="{name}",instance="i"}} {number}\n' for number, name in enumerate(LIGHT, 1)]
        series = [f'load{{group="{HEAVY}",instance="i{number}"}} 1\n' for number in range(_SERIES)]
        self.light, self.all = "".join([*light, series[0]]).encode(), "".join([*light, *series]).encode()


def expression(group: str) -> str:
    """Return the expression of a group: its number.

    It reads the last ten seconds 2,500 times. Series that have ended are set aside once, when it begins, and
    cost no more: it takes eight seconds with them all and 0.05 with one.
    """
    return f'max_over_time(sum(max_over_time(load{{group="{group}"}}[3s]))[10s:4ms])'


@contextmanager
def groups(folder: Path) -> Iterator[Groups]:
    """Run the server. All series are scraped."""
    pages = _Pages()

    with (
        answering(lambda _: Answer(200, pages.all if pages.heavy else pages.light)) as url,
        running_prometheus(folder, [static("groups", url.removeprefix("http://"))]) as prometheus,
    ):
        prometheus.wait_for(f"count(load offset 10s) > {_SERIES}")
        yield Groups(prometheus, pages)
