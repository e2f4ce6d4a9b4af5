"""How long the server takes to answer the page with 2,000 autoscalers: `python -m bench.page`."""

import statistics
import tempfile
import time
from pathlib import Path
from typing import Final

import requests

from tests.browser.world import crowd, served

AIM_MILLISECONDS: Final = 300
_PATHS: Final = ("/", "/?sort=load&page=11", "/?q=99&state=steady", "/autoscalers/service-0004")
_RUNS: Final = 10


def main() -> None:
    """Print the figure beside its aim."""
    print(f"page of 2,000: {milliseconds():.0f} ms   aim: under {AIM_MILLISECONDS} ms")


def milliseconds() -> float:
    """Return the slowest page's median seconds, without its first answer, which compiles templates."""
    with tempfile.TemporaryDirectory() as folder, served(Path(folder), crowd) as site, requests.Session() as session:
        return max(_median(session, site.url + path) for path in _PATHS)


def _median(session: requests.Session, address: str) -> float:
    times = []
    for _ in range(_RUNS + 1):
        begin = time.perf_counter()
        session.get(address, timeout=30).raise_for_status()
        times.append(time.perf_counter() - begin)
    return statistics.median(times[1:]) * 1000


if __name__ == "__main__":
    main()
