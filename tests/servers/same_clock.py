"""A real Prometheus as on the daemon's machine, whose clock is set, or runs fast, with the daemon's.

It stands for a server on that machine: a query's `time` becomes the real time before it is forwarded. The times of the
answer (https://prometheus.io/docs/prometheus/latest/querying/api/, instant queries) become the daemon's again.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.servers.stepped_clock import SteppedClock


def asked_at(path: str, body: bytes) -> float | None:
    """Return a query's time of evaluation by the daemon's clock; None: it has none."""
    times = _form(path, body).get("time")
    return None if times is None else float(times[0])


def to_server(clock: SteppedClock, path: str, body: bytes) -> tuple[str, bytes]:
    """Return the request's path and body with the real time."""
    at = asked_at(path, body)
    if at is None:
        return path, body
    place = urlsplit(path)
    form = urlencode(_form(path, body) | {"time": f"{clock.real(at):.3f}"}, doseq=True)
    return (place.path, form.encode()) if body else (f"{place.path}?{form}", body)


def to_daemon(at: float | None, content: bytes) -> bytes:
    """Return the answer to an instant query at the daemon's time `at`. Other answers stay unchanged."""
    if at is None:
        return content
    try:
        answer = json.loads(content)
        result = answer["data"]["result"]
    except (ValueError, KeyError, TypeError):  # an error has no times
        return content
    for sample in _samples(answer["data"]["resultType"], result):
        sample[0] = at
    return json.dumps(answer).encode()


def date(clock: SteppedClock) -> str:
    """Return the header Date of an answer of the present."""
    return format_datetime(datetime.fromtimestamp(clock.now(), UTC), usegmt=True)


def _form(path: str, body: bytes) -> dict[str, list[str]]:
    return parse_qs(urlsplit(path).query) | parse_qs(body.decode())


def _samples(kind: str, result: Any) -> Sequence[list[Any]]:
    return [series["value"] for series in result] if kind == "vector" else [result]
