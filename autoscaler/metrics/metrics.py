"""Counters and timers. The daemon calls a few methods at its boundaries."""

import logging
from collections import Counter as Tally
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from itertools import product
from types import MappingProxyType
from typing import Final, NamedTuple, ParamSpec

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.metrics import MetricWrapperBase

from autoscaler.clock import Clock
from autoscaler.cycle import CycleResult
from autoscaler.errors import bug
from autoscaler.isolation import each, without
from autoscaler.metrics.families import show
from autoscaler.metrics.health import Health
from autoscaler.metrics.latest import Latest
from autoscaler.metrics.words import (
    FAILURES,
    Action,
    Error,
    action_of,
    error_of,
    error_of_metric,
    failure,
    outcome_of,
)
from autoscaler.model import Autoscaler, ConnectionLimits, Decision, MetricType
from autoscaler.observe.failure import QueryFailure

_P = ParamSpec("_P")
_LOG: Final = logging.getLogger(__name__)
_BUCKETS: Final = tuple(0.001 * 2**power for power in range(16))
"""1 ms to 33 s: the HPA controller's own, and one more, since a cycle may take 30 s."""


def _never_raises(count: Callable[_P, None]) -> Callable[_P, None]:
    """Return the method as one that only logs its exceptions: what is counted must not fail because of its count."""

    @wraps(count)
    def counted(*given: _P.args, **keys: _P.kwargs) -> None:
        try:
            count(*given, **keys)
        except Exception as error:  # noqa: BLE001 - a bug
            _LOG.error("metrics failed in %s: %s", count.__name__, bug(error))

    return counted


class Metrics:
    """The metrics of events. Any thread may call it.

    Series of adapters, sources and autoscalers that leave the configuration are removed; a cycle in progress does not
    create them again.
    """

    def __init__(self, registry: CollectorRegistry, clock: Clock, version: str) -> None:
        """Registers its metrics with `registry`."""
        # otherwise each counter and histogram gets a `_created` series
        disable_created_metrics()  # type: ignore[no-untyped-call]  # prometheus-client has no type hint here
        self._clock = clock
        self._latest = Latest()
        self._connection_limits: Mapping[str, ConnectionLimits] = {}
        self.health = Health(clock, self._latest.warnings)
        """The same events for the page and the API."""
        self._adapters: frozenset[str] = frozenset()
        self._sources: frozenset[str] = frozenset()

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"autoscaler_{name}", text, labels, registry=registry)

        def histogram(name: str, text: str, *labels: str) -> Histogram:
            return Histogram(f"autoscaler_{name}", text, labels, registry=registry, buckets=_BUCKETS)

        def gauge(name: str, text: str, *labels: str) -> Gauge:
            return Gauge(f"autoscaler_{name}", text, labels, registry=registry)

        self._reconciliations = counter(
            "reconciliations_total", "Decisions, one for each autoscaler and cycle.", "action", "error"
        )
        self._reconciliation_seconds = histogram(
            "reconciliation_duration_seconds",
            "Duration of a decision: that of its whole cycle.",
            *("action", "error"),
        )
        self._computations = counter(
            "metric_computation_total", "Metrics that were evaluated.", "action", "error", "metric_type"
        )
        self._computation_seconds = histogram(
            "metric_computation_duration_seconds",
            "Time from the start of the cycle until all its metrics and targets were read.",
            *("action", "error", "metric_type"),
        )
        self._writes = counter("writes_total", "Writes of sizes, by outcome.", "outcome")
        self._tick_seconds = histogram("tick_duration_seconds", "Duration of a cycle.", "adapter")
        self._tick_late = histogram("tick_lateness_seconds", "How late a cycle began.", "adapter")
        text = "Instances that may still leave under the removalBudget, over all daemons."
        self._removals_left = gauge("removal_budget_left", text, "adapter")
        text = "The sum of a connection's sizes, over all daemons; only with a maxTotal."
        self._total_size = gauge("total_size", text, "adapter")
        self._total_limit = gauge("total_size_limit", "The connection's maxTotal.", "adapter")
        self._query_seconds = histogram(
            "query_duration_seconds", "Duration of a query as sent, with the wait for its turn.", "prometheus"
        )
        self._query_failures = counter("query_failures_total", "Queries without a usable answer.", "prometheus")
        self._call_seconds = histogram(
            "adapter_call_duration_seconds",
            "Duration of an adapter's call; one that hangs is not counted.",
            "adapter",
            "operation",
        )
        self._call_failures = counter(
            "adapter_failures_total",
            "Targets that an adapter could not read or write.",
            *("adapter", "operation", "error"),
        )
        self._reload_failures = counter("config_reload_failures_total", "Reloads that were refused.")
        self._reload_fine = gauge("config_last_reload_successful", "0 if the last reload was refused.")
        self._reload_time = gauge(
            "config_last_reload_success_timestamp_seconds", "When the configuration in force was loaded."
        )
        self._notices = counter("notices_total", "Notices for the webhook, by result of a try.", "result")
        for result in ("delivered", "failed", "refused", "dropped"):  # start at 0, as those of queries
            self._notices.labels(result)
        self._state_up = gauge("state_up", "1 if the state answered the last check, some seconds ago.")
        self._state_up.set(1)
        gauge("build_info", "Always 1: the version.", "version").labels(version).set(1)
        show(registry)(self._latest.collect)

    def configured(
        self,
        scalers: Sequence[Autoscaler],
        adapters: Collection[str],
        sources: Collection[str],
        limits: Mapping[str, ConnectionLimits] = MappingProxyType({}),
    ) -> None:
        """Take up a new configuration with these sources; `serves`: its autoscalers and adapters.

        `limits`: of the connections that have any, by name.
        """
        for name in self._sources.difference(sources):
            _forget("prometheus", name, self._query_seconds, self._query_failures)
        self._sources = frozenset(sources)
        self._connection_limits = limits
        self.health.configured(adapters, sources)
        for name in sources:  # start at 0: rate() does not see a failure that creates its series
            self._query_failures.labels(name)
        self.serves(scalers, adapters)
        self._reload_fine.set(1)
        self._reload_time.set(self._clock.now().timestamp())

    def serves(self, scalers: Sequence[Autoscaler], adapters: Collection[str]) -> None:
        """Keep series for the autoscalers and adapter connections that this daemon serves, and for no others."""
        for name in self._adapters.difference(adapters):
            _forget("adapter", name, self._tick_seconds, self._tick_late, self._call_seconds, self._call_failures)
        self.health.serves(adapters)
        for shown in (self._removals_left, self._total_size, self._total_limit):
            shown.clear()
        for name, limits in self._connection_limits.items():
            if name in adapters and limits.max_total is not None:
                self._total_limit.labels(name).set(limits.max_total)
        self._adapters = frozenset(adapters)
        for name in adapters:  # start at 0, as above
            for operation, word in product(("observe", "scale"), FAILURES):
                self._call_failures.labels(name, operation, word)
        self._latest.follow(scalers)

    @_never_raises
    def reload_failed(self, problems: Sequence[str]) -> None:
        """Count a configuration that was refused for these reasons; the previous one stays in force."""
        self.health.reload_failed(problems)
        self._reload_failures.inc()
        self._reload_fine.set(0)

    @_never_raises
    def notices_sent(self, result: str, count: int) -> None:
        """Count tries to send a notice, or notices that were dropped."""
        self._notices.labels(result).inc(count)

    @_never_raises
    def state_answered(self, answered: bool) -> None:
        """Note whether the state answered."""
        self._state_up.set(answered)

    @_never_raises
    def cycle_ended(self, cycle: CycleResult) -> None:
        """Count a shard's cycle, successful or not."""
        adapter = cycle.shard.adapter
        if adapter in self._adapters:
            self._tick_seconds.labels(adapter).observe(cycle.seconds)
            self._tick_late.labels(adapter).observe(cycle.late_seconds)
            self.health.cycle_ended(cycle.shard)
            if adapter in self._connection_limits:  # else it ended after a reload without them
                self._limits_used(adapter, cycle.removals_left, cycle.total)
        odd = dict[str, Exception]()
        counts = each(cycle.decisions, _counts, odd)
        results = Tally(one.result for one in counts)
        results[Action.NONE, Error.INTERNAL] += len(cycle.broken) + len(odd)
        for (action, error), count in (+results).items():
            self._reconciliations.labels(action, error).inc(count)
            _observe(self._reconciliation_seconds.labels(action, error), cycle.seconds, count)
        computed = Tally(metric for one in counts for metric in one.metrics)
        for (action, error, kind), count in computed.items():
            self._computations.labels(action, error, kind).inc(count)
            _observe(self._computation_seconds.labels(action, error, kind), cycle.observing_seconds, count)
        for word, count in Tally(one.outcome for one in counts if one.outcome is not None).items():
            self._writes.labels(word).inc(count)
        self._latest.decided(without(cycle.decisions, odd))

    def _limits_used(self, adapter: str, removals_left: int | None, total: int | None) -> None:
        self.health.limits_used(adapter, removals_left, total)
        if removals_left is not None:
            self._removals_left.labels(adapter).set(removals_left)
        if total is not None:
            self._total_size.labels(adapter).set(total)

    @_never_raises
    def queried(self, prometheus: str, seconds: float, failure: QueryFailure | None) -> None:
        """Count a query to this source (`observe.run_queries.Queried`)."""
        if prometheus not in self._sources:
            return
        self.health.queried(prometheus, failure)
        self._query_seconds.labels(prometheus).observe(seconds)
        if failure is not None:
            self._query_failures.labels(prometheus).inc()

    @_never_raises
    def called(
        self, adapter: str, operation: str, seconds: float, errors: Collection[BaseException], targets: int = 1
    ) -> None:
        """Count an adapter's call for this many targets; `errors` has one for each that failed."""
        if adapter not in self._adapters:
            return
        self.health.called(adapter, targets, errors)
        self._call_seconds.labels(adapter, operation).observe(seconds)
        for word, count in Tally(map(failure, errors)).items():
            self._call_failures.labels(adapter, operation, word).inc(count)


class _Counts(NamedTuple):
    """The counts of one decision."""

    result: tuple[Action, Error]
    metrics: Sequence[tuple[Action, Error, MetricType]]
    outcome: str | None


def _counts(made: Decision) -> _Counts:
    return _Counts(
        (action_of(made.written, made.current), error_of(made)),
        [(action_of(metric.proposal, made.current), error_of_metric(metric), metric.type) for metric in made.metrics],
        None if made.outcome is None else outcome_of(made.outcome),
    )


def _observe(histogram: Histogram, seconds: float, times: int) -> None:
    for _ in range(times):
        histogram.observe(seconds)


def _forget(label: str, value: str, *metrics: MetricWrapperBase) -> None:
    for metric in metrics:
        metric.remove_by_labels({label: value})
