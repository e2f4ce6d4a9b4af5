"""What `check --live` learns of each Prometheus: how it answers, and why a query has no sample."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from autoscaler.cli.causes import Causes
from autoscaler.cli.findings import Finding
from autoscaler.clock import Clock
from autoscaler.config import Settings
from autoscaler.errors import bug
from autoscaler.model import Autoscaler, Failure, MetricSpec, MetricType, Observation, Reading
from autoscaler.observe.failure import QueryFailure, Unsampled, no_sample
from autoscaler.observe.planner import Outcome
from autoscaler.observe.prometheus import Prometheus
from autoscaler.text import count

_CAUSE_SECONDS: Final = 15.0
"""The time for all questions about queries without a sample."""
_ZERO: Final = "; if that means zero, say so in the expression, as in … or vector(0)"


class Asking:
    """Asks the sources of a configuration. Used by one thread, but for `queried`."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._clock = clock
        self._sources = {name: Prometheus(name, source, clock) for name, source in settings.prometheus.items()}
        self._causes: Mapping[str, Causes] | None = None
        self._answered: dict[str, list[float]] = {}
        """Source -> the duration of each query, in seconds."""
        self._failed: dict[str, list[QueryFailure]] = {}

    def close(self) -> None:
        """Close the connections."""
        for source in self._sources.values():
            source.close()

    def queried(self, prometheus: str, seconds: float, failure: QueryFailure | None) -> None:
        """Count one query."""
        if failure is None:
            self._answered.setdefault(prometheus, []).append(seconds)
        else:
            self._failed.setdefault(prometheus, []).append(failure)

    def findings(self) -> Iterator[Finding]:
        """Yield a finding about each Prometheus, from the queries so far.

        A query that it refuses says nothing about it: the finding where the query is used says why.
        """
        for name in self._sources:
            answered, all_failed = self._answered.get(name, []), self._failed.get(name, [])
            failed = [each for each in all_failed if each.outcome is not Outcome.REFUSED]
            refused = len({str(each) for each in all_failed} - {str(each) for each in failed})
            used = count(len(answered), "query", "queries")
            text = f"{used} answered" if answered or all_failed else "used by no query"
            text += f", the slowest in {max(answered):.2f} s" if answered else ""
            text += f"; {refused} refused, see below" if refused else ""
            text += f"; {len(failed)} failed: {failed[0]}" if failed else ""
            yield Finding(f"prometheus {name}", text, bool(failed))

    def with_causes(self, scaler: Autoscaler, seen: Observation, now: datetime) -> Observation:
        """Return the observation, with the causes of queries without a sample, as far as Prometheus shows them."""
        if self._causes is None:
            deadline = self._clock.monotonic() + _CAUSE_SECONDS
            self._causes = {name: Causes(each, now, deadline, self._clock) for name, each in self._sources.items()}
        pairs = zip(scaler.metrics, seen.readings, strict=True)
        return replace(seen, readings=tuple([_explained(metric, reading, self._causes) for metric, reading in pairs]))


def _explained(metric: MetricSpec, reading: Reading | Failure, causes: Mapping[str, Causes]) -> Reading | Failure:
    if not isinstance(reading, Unsampled):
        return reading
    what = no_sample(reading.query)
    try:
        cause = causes[reading.query.prometheus].of(reading.query)
    except Exception as error:  # noqa: BLE001 - an unforeseen answer must not discard the other findings
        return replace(reading, message=f"{what}; the search for the cause failed: {bug(error)}")
    if cause is None:
        return replace(reading, message=f"{what}; query its parts in Prometheus, one by one")
    zero = cause.may_be_zero and metric.type in (MetricType.OBJECT, MetricType.EXTERNAL)
    message = f"{what}: {cause.text}{_ZERO if zero else ''}"
    return Failure(message) if cause.is_mistake else replace(reading, message=message)
