"""What is served and refused under each grant."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import GaugeMetricFamily

from autoscaler.config.settings import Settings
from autoscaler.documents.status import GrantStatus
from autoscaler.metrics.watch import Collected
from autoscaler.text import plain

_MOST_REFUSED: Final = 20
"""Problems listed for each grant."""


def grants_of(settings: Settings) -> tuple[GrantStatus, ...]:
    """Return what is served and refused under each grant, sorted by name."""
    served, refused = Counter(settings.owners.values()), settings.refused
    return tuple(
        [
            GrantStatus(
                name=name,
                autoscalers=served[name],
                refused=len(refused.get(name, ())),
                problems=tuple([plain(str(problem)) for problem in refused.get(name, ())[:_MOST_REFUSED]]),
            )
            for name in sorted({*settings.grants, *refused})
        ]
    )


def watch_grants(registry: CollectorRegistry, settings: Callable[[], Settings]) -> None:
    """Show what is served and refused under each grant, of the configuration in force."""

    def collect() -> Iterator[Metric]:
        served = GaugeMetricFamily(
            "autoscaler_grant_autoscalers", "Autoscalers that are served under a grant.", labels=["grant"]
        )
        refused = GaugeMetricFamily(
            "autoscaler_grant_refused",
            "Problems of a grant's folder, files and autoscalers, for which some of them are not in force.",
            labels=["grant"],
        )
        for each in grants_of(settings()):
            served.add_metric([each.name], each.autoscalers)
            refused.add_metric([each.name], each.refused)
        yield from (served, refused)

    registry.register(Collected(collect))
