"""What is served and refused under each grant."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from prometheus_client import CollectorRegistry, Metric

from autoscaler.config.settings import Settings
from autoscaler.metrics.families import gauge, show
from autoscaler.text import plain
from autoscaler.view.status import GrantStatus

_MAX_REFUSED: Final = 20
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
                problems=tuple([plain(str(problem)) for problem in refused.get(name, ())[:_MAX_REFUSED]]),
            )
            for name in sorted({*settings.grants, *refused})
        ]
    )


def watch_grants(registry: CollectorRegistry, settings: Callable[[], Settings | None]) -> None:
    """Show what is served and refused under each grant, of the configuration in force.

    `settings` returns that configuration; None: this daemon stands by, and leaves these series to the leader.
    """

    @show(registry)
    def collect() -> Iterator[Metric]:
        if (known := settings()) is None:
            return
        grants = grants_of(known)
        text = "Autoscalers that are served under a grant."
        yield gauge("grant_autoscalers", text, {each.name: each.autoscalers for each in grants}, "grant")
        text = "Problems of a grant's folder, files and autoscalers, for which some of them are not in force."
        yield gauge("grant_refused", text, {each.name: each.refused for each in grants}, "grant")
