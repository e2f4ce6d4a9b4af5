"""Series that other parts count already, read from them when `/metrics` is read."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, Protocol

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from autoscaler.clock import Clock
from autoscaler.errors import StateError
from autoscaler.model import ShardName
from autoscaler.record import StateSize

_UNHELD_SECONDS: Final = 5.0
"""How often it is looked at most for what nobody serves."""
_STATE_SECONDS: Final = 60.0
"""How often the state's size is read at most: it costs queries."""


class ShardCounts(Protocol):
    """What is shown of `schedule.Shards`."""

    def missed(self) -> Mapping[str, int]:
        """Adapter -> ticks of its shards that found the cycle before still running."""

    def hung(self) -> Collection[ShardName]:
        """The shards whose cycle is past its deadline."""

    def superseded(self) -> Mapping[str, int]:
        """Adapter -> how often one of its shards hung and another took its place."""


def watch_shards(registry: CollectorRegistry, shards: ShardCounts) -> None:
    """Show each adapter's missed ticks, and whether a shard of it hangs: a series for each shard would be many."""
    registry.register(_ShardCollector(shards))


def watch_state(registry: CollectorRegistry, size: Callable[[], StateSize], clock: Clock) -> None:
    """Show how large the durable state is. `size` may raise StateError: then there are no such series for a minute."""
    registry.register(_StateCollector(size, clock))


class MembershipCounts(Protocol):
    """What is shown of `runtime.Membership`."""

    @property
    def is_member(self) -> bool:
        """Whether the lease stands."""

    @property
    def members(self) -> int:
        """How many daemons share the state."""

    @property
    def lost(self) -> int:
        """How often the lease was lost."""

    def seconds_left(self) -> float:
        """Until the lease ends."""

    def held(self) -> Collection[ShardName]:
        """The shards that this daemon holds."""


def watch_membership(
    registry: CollectorRegistry, membership: MembershipCounts, unheld: Callable[[], int], clock: Clock
) -> None:
    """Show the lease of a daemon that shares its state, and what nobody serves.

    `unheld` may raise StateError: then there is no such series for a while.
    """
    registry.register(_MembershipCollector(membership, unheld, clock))


class _Undescribed(Collector):
    """Names nothing in advance, so that registering collects nothing."""

    def describe(self) -> Sequence[Metric]:
        return ()


class _ShardCollector(_Undescribed):
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


class _StateCollector(_Undescribed):
    def __init__(self, size: Callable[[], StateSize], clock: Clock) -> None:
        self._size = size
        self._clock = clock
        self._known: StateSize | None = None
        self._asked: float | None = None

    def collect(self) -> Iterator[Metric]:
        """Two scrapes at once may ask twice; neither waits for the other."""
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
        rows = GaugeMetricFamily(
            "autoscaler_state_rows", "Rows of the state; of large tables an estimate.", labels=("table",)
        )
        for table, count in known.rows.items():
            rows.add_metric((table,), count)
        cut = GaugeMetricFamily(
            "autoscaler_state_cut_timestamp_seconds",
            "When data was last deleted because the state reached state.maxSize.",
            labels=("tier",),
        )
        for each in known.cuts:
            cut.add_metric((each.tier,), each.at.timestamp())
        yield from (size, rows, cut)


class _MembershipCollector(_Undescribed):
    def __init__(self, membership: MembershipCounts, unheld: Callable[[], int], clock: Clock) -> None:
        self._membership = membership
        self._count_unheld = unheld
        self._clock = clock
        self._unheld: int | None = None
        self._asked: float | None = None

    def collect(self) -> Iterator[Metric]:
        membership = self._membership
        held = GaugeMetricFamily("autoscaler_lease_held", "1 while this daemon's lease stands; at 0 it scales nothing.")
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
        """Asked for as seldom as scrapes come at most, for it costs queries."""
        now = self._clock.monotonic()
        if self._asked is None or now - self._asked >= _UNHELD_SECONDS:
            self._asked = now
            try:
                self._unheld = self._count_unheld()
            except StateError:  # the lease says that the database is away
                self._unheld = None
        if self._unheld is not None:
            unheld = GaugeMetricFamily(
                "autoscaler_unheld", "Autoscalers of the newest loaded configuration that no daemon serves."
            )
            unheld.add_metric((), self._unheld)
            yield unheld
