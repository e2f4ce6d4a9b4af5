"""The load of a fleet, for a real Prometheus to scrape: `python -m bench.fleet.series GROUPS INSTANCES` serves it.

Every value moves with every scrape interval; of the groups, half a percent ask for twice their size in one interval
and for their own again in the next, so that one percent change size in each.
"""

import sys
import time
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

METRIC: Final = "fleet_load"
INTERVAL_SECONDS: Final = 15
SERIES_OF_A_PAGE: Final = 50_000
_VARIANTS: Final = 4
_SURGE_EVERY: Final = 200


def pages_of(groups: int, instances: int) -> int:
    """The number of scrape targets that share the series."""
    return max(1, groups * instances // SERIES_OF_A_PAGE)


def group_name(number: int) -> str:
    """Return the name of a group: of its target, its autoscaler and its label."""
    return f"g-{number:05}"


def page(members: Sequence[int], instances: int, variant: int) -> bytes:
    """Return the exposition of these groups in one interval."""
    lines = []
    for number in members:
        surge = 2 if number % _SURGE_EVERY == variant else 1
        name = group_name(number)
        for each in range(instances):
            value = surge * (98 + (number * 7 + each * 3 + variant * 11) % 50 / 10)
            lines.append(f'{METRIC}{{group="{name}",instance="{name}-{each}"}} {value:.3f}\n')
    return "".join(lines).encode()


def main() -> None:
    """Print the port and serve until the process is killed."""
    groups, instances = int(sys.argv[1]), int(sys.argv[2])
    count = pages_of(groups, instances)
    parts = [range(part, groups, count) for part in range(count)]
    texts = [[page(part, instances, variant) for variant in range(_VARIANTS)] for part in parts]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = texts[int(self.path.strip("/"))][int(time.time() / INTERVAL_SECONDS) % _VARIANTS]
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
