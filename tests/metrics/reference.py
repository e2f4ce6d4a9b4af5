"""Generates docs/metrics-reference.md: `python -m tests.metrics.reference > docs/metrics-reference.md`."""

from prometheus_client import Metric

from tests.metrics.exposed import everything

_HEAD = """# Metrics reference

Generated from the program's help texts. [metrics.md](metrics.md) explains the labels and the alerts. The usual
`process_…` metrics (memory, processor time, open files) are exposed too.

| metric | type | labels | meaning |
|---|---|---|---|
"""


def reference() -> str:
    """Return the page, sorted by name."""
    rows = sorted(
        f"| `{name(metric)}` | {metric.type} | {', '.join(f'`{label}`' for label in labels(metric))} "
        f"| {metric.documentation} |\n"
        for metric in everything().registry.collect()
        if metric.name.startswith("autoscaler_")
    )
    return _HEAD + "".join(rows)


def name(metric: Metric) -> str:
    """Return the name that Prometheus stores."""
    return metric.name + ("_total" if metric.type == "counter" else "")


def labels(metric: Metric) -> list[str]:
    """Return the labels of all series of a metric."""
    if not metric.samples:
        raise AssertionError(f"{metric.name} has no series in tests.metrics.exposed")
    return sorted({label for sample in metric.samples for label in sample.labels} - {"le"})


if __name__ == "__main__":
    print(reference(), end="")
