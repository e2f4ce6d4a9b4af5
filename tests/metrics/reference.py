"""The list of metrics, which tools/site.py puts into the site's page of metrics."""

from prometheus_client import Metric

from tests.metrics.exposed import everything


def reference() -> str:
    """Return a table of every metric in Markdown, sorted by name."""
    rows = sorted(
        f"| `{name(metric)}` | {metric.type} | {', '.join(f'`{label}`' for label in labels(metric))} "
        f"| {metric.documentation} |\n"
        for metric in everything().registry.collect()
        if metric.name.startswith("autoscaler_")
    )
    return "| metric | type | labels | meaning |\n|---|---|---|---|\n" + "".join(rows)


def name(metric: Metric) -> str:
    """Return the name that Prometheus stores."""
    return metric.name + ("_total" if metric.type == "counter" else "")


def labels(metric: Metric) -> list[str]:
    """Return the labels of all series of a metric."""
    if not metric.samples:
        raise AssertionError(f"{metric.name} has no series in tests.metrics.exposed")
    return sorted({label for sample in metric.samples for label in sample.labels} - {"le"})
