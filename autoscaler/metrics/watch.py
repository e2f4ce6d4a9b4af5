"""Series of values that other rooms count, read at each scrape."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, Generic, Protocol, TypeVar

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from autoscaler.clock import Clock
from autoscaler.documents.discovered import DiscoveredList
from autoscaler.errors import StateError
from autoscaler.model import ShardName
from autoscaler.observe import AskedAlone
from autoscaler.record import StateSize

_T = TypeVar("_T")
_UNHELD_SECONDS: Final = 5.0
"""Shortest interval between two counts of unserved autoscalers."""
_STATE_SECONDS: Final = 60.0
"""Shortest interval between two reads of the state's size, which cost queries."""


class ShardCounts(Protocol):
    """The values of `schedule.Shards` that are shown."""

    def missed(self) -> Mapping[str, int]:
        """Adapter -> ticks that its shards missed because a cycle was still running."""

    def hung(self) -> Collection[ShardName]:
        """The shards whose cycle has passed its deadline."""

    def superseded(self) -> Mapping[str, int]:
        """Adapter -> how often a hung shard was superseded."""


class MembershipCounts(Protocol):
    """The values of `runtime.Membership` that are shown."""

    @property
    def is_member(self) -> bool:
        """Return whether the lease is valid."""

    @property
    def members(self) -> int:
        """Return how many daemons share the state."""

    @property
    def lost(self) -> int:
        """Return how often the lease was lost."""

    def seconds_left(self) -> float:
        """Return the seconds until the lease ends."""

    def held(self) -> Collection[ShardName]:
        """Return the shards that this daemon holds."""


class Collected(Collector):
    """Yields what a function makes of present values. It describes no series, so that registration does not collect."""

    def __init__(self, collect: Callable[[], Iterator[Metric]]) -> None:
        self._collect = collect

    def describe(self) -> Sequence[Metric]:
        """Return nothing."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield the families."""
        return self._collect()


class _Costly(Generic[_T]):
    """A value of the state that is read at most once in some seconds."""

    def __init__(self, read: Callable[[], _T], clock: Clock, seconds: float) -> None:
        self._read, self._clock, self._seconds = read, clock, seconds
        self._known: _T | None = None
        self._asked: float | None = None

    def get(self) -> _T | None:
        """Return the value; None: the state could not be read. Two scrapes may both read; neither waits."""
        now = self._clock.monotonic()
        if self._asked is None or now - self._asked >= self._seconds:
            self._asked = now
            try:
                self._known = self._read()
            except StateError:  # the cycles log it, and the lease's series show that the database is down
                self._known = None
        return self._known


def watch_shards(registry: CollectorRegistry, shards: ShardCounts) -> None:
    """Show each adapter's missed ticks and hung shards, without a series for each shard."""

    def collect() -> Iterator[Metric]:
        missed = CounterMetricFamily(
            "autoscaler_missed_ticks",
            "Cycles that were left out because the previous one was running.",
            labels=("adapter",),
        )
        hung = GaugeMetricFamily(
            "autoscaler_shard_hung", "1 while a cycle runs past its deadline.", labels=("adapter",)
        )
        superseded = CounterMetricFamily(
            "autoscaler_shards_superseded", "Shards that hung and were replaced.", labels=("adapter",)
        )
        for name, count in shards.superseded().items():
            superseded.add_metric((name,), count)
        hanging = {shard.adapter for shard in shards.hung()}
        for name, count in shards.missed().items():
            missed.add_metric((name,), count)
            hung.add_metric((name,), name in hanging)
        yield from (missed, hung, superseded)

    registry.register(Collected(collect))


def watch_queries(registry: CollectorRegistry, alone: Callable[[], Sequence[AskedAlone]]) -> None:
    """Show how many queries the daemon sends alone, and why."""

    def collect() -> Iterator[Metric]:
        family = GaugeMetricFamily(
            "autoscaler_queries_asked_alone",
            "Queries that are sent alone, because they are refused or heavy; no series while there are none.",
            labels=("prometheus", "reason"),
        )
        counts = Counter((each.question.prometheus, each.why.value) for each in alone())
        for labels, count in counts.items():
            family.add_metric(labels, count)
        yield family

    registry.register(Collected(collect))


def watch_discovery(registry: CollectorRegistry, found: Callable[[], DiscoveredList]) -> None:
    """Show how many policies were discovered, and what of that failed."""

    def collect() -> Iterator[Metric]:
        policies = GaugeMetricFamily(
            "autoscaler_policies_discovered",
            "Scaling policies that the back end has: those that are autoscalers, and those that are refused.",
            labels=("adapter", "state"),
        )
        failures = GaugeMetricFamily(
            "autoscaler_discovery_failures",
            "Namespaces and targets of which the last look learned nothing; what was known of them stays.",
            labels=("adapter",),
        )
        for each in found().connections:
            policies.add_metric((each.name, "converted"), each.found - each.refused)
            policies.add_metric((each.name, "refused"), each.refused)
            failures.add_metric((each.name,), each.failing)
        yield from (policies, failures)

    registry.register(Collected(collect))


def watch_state(registry: CollectorRegistry, size: Callable[[], StateSize], clock: Clock) -> None:
    """Show the size of the state. `size` may raise StateError; its series are then absent for a minute."""
    latest = _Costly(size, clock, _STATE_SECONDS)

    def collect() -> Iterator[Metric]:
        if (known := latest.get()) is None:
            return
        yield GaugeMetricFamily(
            "autoscaler_state_size_bytes", "Size of the state, checked once a minute.", value=known.bytes
        )
        cut = GaugeMetricFamily(
            "autoscaler_state_cut_timestamp_seconds",
            "When data was last deleted because the state reached state.maxSize.",
            labels=("tier",),
        )
        for each in known.cuts:
            cut.add_metric((each.tier,), each.at.timestamp())
        yield cut

    registry.register(Collected(collect))


def watch_log(registry: CollectorRegistry, dropped: Callable[[], int]) -> None:
    """Show how many lines of the log were not written."""

    def collect() -> Iterator[Metric]:
        yield CounterMetricFamily(
            "autoscaler_log_lines_dropped",
            "Lines of the log that were not written: stderr could not be written, or its reader was too slow.",
            value=dropped(),
        )

    registry.register(Collected(collect))


def watch_membership(
    registry: CollectorRegistry, membership: MembershipCounts, unheld: Callable[[], int], clock: Clock
) -> None:
    """Show the lease of a daemon that shares its state, and the unserved autoscalers.

    `unheld` may raise StateError; its series is then absent for a while.
    """
    unserved = _Costly(unheld, clock, _UNHELD_SECONDS)

    def collect() -> Iterator[Metric]:
        yield GaugeMetricFamily(
            "autoscaler_lease_held",
            "1 while this daemon's lease is valid; at 0 it scales nothing.",
            value=membership.is_member,
        )
        yield GaugeMetricFamily(
            "autoscaler_lease_seconds_left",
            "How long the daemon may continue without renewing its lease.",
            value=max(0.0, membership.seconds_left()),
        )
        yield CounterMetricFamily("autoscaler_lease_lost", "How often the lease was lost.", value=membership.lost)
        yield GaugeMetricFamily(
            "autoscaler_members", "Daemons that share the state, as last seen.", value=membership.members
        )
        shards = GaugeMetricFamily("autoscaler_shards_held", "Shards that this daemon holds.", labels=("adapter",))
        for adapter, count in Counter(sorted(name.adapter for name in membership.held())).items():
            shards.add_metric((adapter,), count)
        yield shards
        if (found := unserved.get()) is not None:
            yield GaugeMetricFamily(
                "autoscaler_unheld",
                "Autoscalers of the newest loaded configuration that no daemon serves.",
                value=found,
            )

    registry.register(Collected(collect))
