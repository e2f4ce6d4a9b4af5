"""Series of values that other rooms count, read at each scrape."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, Protocol

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from autoscaler.clock import Clock
from autoscaler.documents.discovered import DiscoveredList
from autoscaler.errors import StateError
from autoscaler.model import ShardName
from autoscaler.observe import AskedAlone
from autoscaler.record import StateSize

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


def watch_shards(registry: CollectorRegistry, shards: ShardCounts) -> None:
    """Show each adapter's missed ticks and hung shards, without a series for each shard."""
    registry.register(_ShardCollector(shards))


def watch_queries(registry: CollectorRegistry, alone: Callable[[], Sequence[AskedAlone]]) -> None:
    """Show how many queries the daemon sends alone, and why."""
    registry.register(_QueryCollector(alone))


def watch_discovery(registry: CollectorRegistry, found: Callable[[], DiscoveredList]) -> None:
    """Show how many policies were discovered, and what of that failed."""
    registry.register(_DiscoveryCollector(found))


def watch_state(registry: CollectorRegistry, size: Callable[[], StateSize], clock: Clock) -> None:
    """Show the size of the state. `size` may raise StateError; its series are then absent for a minute."""
    registry.register(_StateCollector(size, clock))


def watch_log(registry: CollectorRegistry, dropped: Callable[[], int]) -> None:
    """Show how many lines of the log were not written."""
    registry.register(_LogCollector(dropped))


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


def watch_membership(
    registry: CollectorRegistry, membership: MembershipCounts, unheld: Callable[[], int], clock: Clock
) -> None:
    """Show the lease of a daemon that shares its state, and the unserved autoscalers.

    `unheld` may raise StateError; its series is then absent for a while.
    """
    registry.register(_MembershipCollector(membership, unheld, clock))


class Undescribed(Collector):
    """Describes no series, so that the registration does not collect."""

    def describe(self) -> Sequence[Metric]:
        """Return nothing."""
        return ()


class _ShardCollector(Undescribed):
    def __init__(self, shards: ShardCounts) -> None:
        self._shards = shards

    def collect(self) -> Iterator[Metric]:
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
        for name, count in self._shards.superseded().items():
            superseded.add_metric((name,), count)
        hanging = {shard.adapter for shard in self._shards.hung()}
        for name, count in self._shards.missed().items():
            missed.add_metric((name,), count)
            hung.add_metric((name,), name in hanging)
        yield from (missed, hung, superseded)


class _QueryCollector(Undescribed):
    def __init__(self, alone: Callable[[], Sequence[AskedAlone]]) -> None:
        self._alone = alone

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(
            "autoscaler_queries_asked_alone",
            "Queries that are sent alone, because they are refused or heavy; no series while there are none.",
            labels=("prometheus", "reason"),
        )
        counts = Counter((each.question.prometheus, each.why.value) for each in self._alone())
        for labels, count in counts.items():
            family.add_metric(labels, count)
        yield family


class _DiscoveryCollector(Undescribed):
    def __init__(self, found: Callable[[], DiscoveredList]) -> None:
        self._found = found

    def collect(self) -> Iterator[Metric]:
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
        for each in self._found().connections:
            policies.add_metric((each.name, "converted"), each.found - each.refused)
            policies.add_metric((each.name, "refused"), each.refused)
            failures.add_metric((each.name,), each.failing)
        yield from (policies, failures)


class _StateCollector(Undescribed):
    def __init__(self, size: Callable[[], StateSize], clock: Clock) -> None:
        self._size = size
        self._clock = clock
        self._known: StateSize | None = None
        self._asked: float | None = None

    def collect(self) -> Iterator[Metric]:
        """Yield the series. Two concurrent scrapes may both read; neither waits."""
        now = self._clock.monotonic()
        if self._asked is None or now - self._asked >= _STATE_SECONDS:
            self._asked = now
            try:
                self._known = self._size()
            except StateError:  # the cycles log it
                self._known = None
        if (known := self._known) is None:
            return
        size = GaugeMetricFamily("autoscaler_state_size_bytes", "Size of the state, checked once a minute.")
        size.add_metric((), known.bytes)
        cut = GaugeMetricFamily(
            "autoscaler_state_cut_timestamp_seconds",
            "When data was last deleted because the state reached state.maxSize.",
            labels=("tier",),
        )
        for each in known.cuts:
            cut.add_metric((each.tier,), each.at.timestamp())
        yield from (size, cut)


class _LogCollector(Undescribed):
    def __init__(self, dropped: Callable[[], int]) -> None:
        self._dropped = dropped

    def collect(self) -> Iterator[Metric]:
        lines = CounterMetricFamily(
            "autoscaler_log_lines_dropped",
            "Lines of the log that were not written: stderr could not be written, or its reader was too slow.",
        )
        lines.add_metric((), self._dropped())
        yield lines


class _MembershipCollector(Undescribed):
    def __init__(self, membership: MembershipCounts, unheld: Callable[[], int], clock: Clock) -> None:
        self._membership = membership
        self._count_unheld = unheld
        self._clock = clock
        self._unheld: int | None = None
        self._asked: float | None = None

    def collect(self) -> Iterator[Metric]:
        membership = self._membership
        held = GaugeMetricFamily(
            "autoscaler_lease_held", "1 while this daemon's lease is valid; at 0 it scales nothing."
        )
        held.add_metric((), membership.is_member)
        left = GaugeMetricFamily(
            "autoscaler_lease_seconds_left", "How long the daemon may continue without renewing its lease."
        )
        left.add_metric((), max(0.0, membership.seconds_left()))
        lost = CounterMetricFamily("autoscaler_lease_lost", "How often the lease was lost.")
        lost.add_metric((), membership.lost)
        members = GaugeMetricFamily("autoscaler_members", "Daemons that share the state, as last seen.")
        members.add_metric((), membership.members)
        shards = GaugeMetricFamily("autoscaler_shards_held", "Shards that this daemon holds.", labels=("adapter",))
        for adapter, count in Counter(sorted(name.adapter for name in membership.held())).items():
            shards.add_metric((adapter,), count)
        yield from (held, left, lost, members, shards)
        yield from self._unheld_family()

    def _unheld_family(self) -> Iterator[Metric]:
        """Return the family, at most as old as the shortest interval: it costs queries."""
        now = self._clock.monotonic()
        if self._asked is None or now - self._asked >= _UNHELD_SECONDS:
            self._asked = now
            try:
                self._unheld = self._count_unheld()
            except StateError:  # the lease's series show that the database is down
                self._unheld = None
        if self._unheld is not None:
            unheld = GaugeMetricFamily(
                "autoscaler_unheld", "Autoscalers of the newest loaded configuration that no daemon serves."
            )
            unheld.add_metric((), self._unheld)
            yield unheld
