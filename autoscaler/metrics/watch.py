"""Series of values that other rooms count, read at each scrape."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, Protocol

from prometheus_client import CollectorRegistry, Metric

from autoscaler.clock import Clock
from autoscaler.errors import StateError
from autoscaler.metrics.families import counter, gauge, show
from autoscaler.model import ShardName
from autoscaler.observe.queries import AskedAlone
from autoscaler.record.values import StateSize
from autoscaler.view.discovered import DiscoveredList

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


class _Size:
    """The size of the state, read at most once a minute."""

    def __init__(self, read: Callable[[], StateSize], clock: Clock) -> None:
        self._read, self._clock = read, clock
        self._known: StateSize | None = None
        self._asked: float | None = None

    def get(self) -> StateSize | None:
        """Return it; None: the state could not be read. Two scrapes may both read; neither waits."""
        now = self._clock.monotonic()
        if self._asked is None or now - self._asked >= _STATE_SECONDS:
            self._asked = now
            try:
                self._known = self._read()
            except StateError:  # the cycles log it
                self._known = None
        return self._known


def watch_shards(registry: CollectorRegistry, shards: ShardCounts) -> None:
    """Show each adapter's missed ticks and hung shards, without a series for each shard."""

    @show(registry)
    def collect() -> Iterator[Metric]:
        missed, hung = shards.missed(), {shard.adapter for shard in shards.hung()}
        text = "Cycles that were left out because the previous one was running."
        yield counter("missed_ticks", text, missed, "adapter")
        text = "1 while a cycle runs past its deadline."
        yield gauge("shard_hung", text, {name: name in hung for name in missed}, "adapter")
        yield counter("shards_superseded", "Shards that hung and were replaced.", shards.superseded(), "adapter")


def watch_queries(registry: CollectorRegistry, alone: Callable[[], Sequence[AskedAlone]]) -> None:
    """Show how many queries the daemon sends alone, and why."""

    @show(registry)
    def collect() -> Iterator[Metric]:
        text = "Queries that are sent alone, because they are refused or heavy; no series while there are none."
        counts = Counter((each.question.prometheus, each.why.value) for each in alone())
        yield gauge("queries_asked_alone", text, counts, "prometheus", "reason")


def watch_discovery(registry: CollectorRegistry, found: Callable[[], DiscoveredList]) -> None:
    """Show how many policies were discovered, and what of that failed."""

    @show(registry)
    def collect() -> Iterator[Metric]:
        connections = found().connections
        converted = {(each.name, "converted"): each.found - each.refused for each in connections}
        refused = {(each.name, "refused"): each.refused for each in connections}
        text = (
            "Scaling policies and labels that the back end has: those that are autoscalers, and those that are refused."
        )
        yield gauge("policies_discovered", text, converted | refused, "adapter", "state")
        text = "Namespaces and targets of which the last look learned nothing; what was known of them stays."
        yield gauge("discovery_failures", text, {each.name: each.failing for each in connections}, "adapter")


def watch_state(
    registry: CollectorRegistry, size: Callable[[], StateSize], clock: Clock, leads: Callable[[], bool]
) -> None:
    """Show the size of the state. `size` may raise StateError; its series are then absent for a minute.

    `leads` returns whether this daemon leads; the leader alone shows the size, so that sums over all daemons are true.
    """
    latest = _Size(size, clock)

    @show(registry)
    def collect() -> Iterator[Metric]:
        if not leads() or (known := latest.get()) is None:
            return
        yield gauge("state_size_bytes", "Size of the state, checked once a minute.", known.bytes)
        text = "When data was last deleted because the state reached state.maxSize."
        yield gauge("state_cut_timestamp_seconds", text, {cut.tier: cut.at.timestamp() for cut in known.cuts}, "tier")


def watch_log(registry: CollectorRegistry, dropped: Callable[[], int]) -> None:
    """Show how many lines of the log were not written."""
    text = "Lines of the log that were not written: stderr could not be written, or its reader was too slow."
    show(registry)(lambda: [counter("log_lines_dropped", text, dropped())])
