"""Which metrics measure a load that is conserved: requests from outside do, queues and latencies do not."""

import re
from collections.abc import Iterator
from typing import Final

from autoscaler.model import Autoscaler, MetricSpec, MetricType

_LATENCIES: Final = (
    (re.compile(r"\bhistogram_quantile\s*\(|\{[^}]*\bquantile\s*="), "it is a quantile of a histogram or a summary"),
    (re.compile(r"\b(\w+)_sum\b.*/.*\b\1_count\b", re.DOTALL), "it is an average: a sum divided by its count"),
    (re.compile(r"latency|response_time", re.IGNORECASE), "its name says so"),
)
"""Patterns of a name or an expression of a latency, each with the reason to give."""
_QUEUES: Final = re.compile(r"queue|backlog|waiting|pending|(?:\b|_)lag(?:\b|_)", re.IGNORECASE)
"""An expression of a queue. A metric's own name is only shown, and may say anything."""
_TOTALS: Final = (MetricType.EXTERNAL, MetricType.OBJECT)


def unconserved(scaler: Autoscaler) -> Iterator[str]:
    """Yield a sentence for each metric that is no load. With one, the demand is unknown."""
    for spec in scaler.metrics:
        why = _why_unconserved(spec)
        if why is not None:
            yield f"{spec.type} metric {spec.name} {why}"


def _why_unconserved(spec: MetricSpec) -> str | None:
    text = f"{spec.name} {spec.query.expr}"
    latency = next((why for pattern, why in _LATENCIES if pattern.search(text)), None)
    if latency is not None:
        return f"is a latency ({latency}): what it would have been at another size is unknown"
    if spec.type in _TOTALS and _QUEUES.search(spec.query.expr):
        return "is a queue (its expression says so): how fast replicas work it off is unknown, and so is the demand"
    return None
