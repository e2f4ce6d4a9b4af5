"""Autoscalers of one connection on a virtual clock, with limits counted as the ledgers of its shards count them."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta

from autoscaler.decide import apply_outcome, decide, remember
from autoscaler.errors import TargetDeferred, TargetError, TargetUnavailable
from autoscaler.limits.connection_limits import LimitedDecisions, apply_limits, counted_size
from autoscaler.limits.removals import Counted, count, settle
from autoscaler.model import (
    Autoscaler,
    Behavior,
    ConnectionLimits,
    Decision,
    History,
    LimitUsage,
    MetricType,
    Observation,
    Outcome,
    PolicyType,
    Removal,
    RemovalBudget,
    ScalingPolicy,
    ScalingRules,
    SelectPolicy,
    TargetRef,
    TargetType,
    Written,
)
from tests.decide.build import NOW, metric, state, value

LOAD = metric(MetricType.EXTERNAL, TargetType.AVERAGE_VALUE, 1000, "load")
_AT_ONCE = ScalingRules(
    timedelta(0), SelectPolicy.MAX, (ScalingPolicy(PolicyType.PODS, 1000, timedelta(seconds=1)),), tolerance=0
)
AT_ONCE = Behavior(_AT_ONCE, _AT_ONCE)
"""Follows its metric in one step."""
UNDER_WAY = TargetDeferred("an earlier write hangs")


def limits(instances: int | None = None, seconds: int = 60, total: int | None = None) -> ConnectionLimits:
    budget = None if instances is None else RemovalBudget(instances, timedelta(seconds=seconds))
    return ConnectionLimits(budget, total)


class Fleet:
    """Each autoscaler wants as many instances as its load. A write takes effect at once unless its outcome differs."""

    def __init__(self, limited: ConnectionLimits, sizes: Mapping[str, int], shards: int = 1, minimum: int = 1) -> None:
        self.limits, self.shards, self.now = limited, shards, NOW
        self.sizes = dict(sizes)
        self.scalers = {
            name: Autoscaler(name, TargetRef("fleet", name), minimum, 100, (LOAD,), AT_ONCE) for name in sizes
        }
        self.shard_of = {name: place % shards for place, name in enumerate(sizes)}
        self.known = dict(sizes)
        self.histories = {name: History() for name in sizes}
        self.counted: dict[tuple[str, datetime], int] = {}
        self.left: list[tuple[datetime, int]] = []
        """Times and numbers of removed instances."""
        self.limited_decisions: LimitedDecisions

    def standing(self, shard: int = 0, busy: Collection[str] = ()) -> LimitUsage:
        """Return the limits as one shard reads them. `busy`: autoscalers with an earlier write under way."""
        removals = tuple(
            Removal(name, at, units) for (name, at), units in sorted(self.counted.items(), key=lambda row: row[0][1])
        )
        mine = {name: size for name, size in self.known.items() if self.shard_of[name] == shard}
        others = sum(self.known.values()) - sum(mine.values())
        targets = frozenset(TargetRef("fleet", name) for name in busy)
        return LimitUsage("fleet", self.limits, removals, mine, others, targets)

    def cycle(
        self,
        loads: Mapping[str, int | TargetError],
        outcomes: Mapping[str, Outcome] | None = None,
        arrives: bool = True,
        shard: int = 0,
        after: float = 0,
        standing: LimitUsage | None = None,
        busy: Collection[str] = (),
    ) -> dict[str, Decision]:
        """Run a cycle for these autoscalers, `after` seconds later. An error as a load means an unreadable target.

        `outcomes`: of writes that do not succeed. `arrives`: whether a write without an answer takes effect.
        `standing`: the limits as read before others used them; a decision that is too late is dropped. `busy`:
        autoscalers with an earlier write under way, which are sent nothing.
        """
        self.now += timedelta(seconds=after)
        made = [self._decide(name, load) for name, load in loads.items()]
        self.limited_decisions = apply_limits(made, self.histories, standing or self.standing(shard, busy), self.now)
        again = apply_limits(
            self.limited_decisions.decisions, self.histories, self.standing(shard, busy), self.now
        ).decisions
        pairs = zip(self.limited_decisions.decisions, again, strict=True)
        intended = [one for one, cut in pairs if one.dry_run or one.change == cut.change]
        sent = [one for one in intended if one.name not in busy]
        counted = {one.name: known for one in sent if (known := self._count(one)) is not None}
        done = {}
        for one in intended:
            given = UNDER_WAY if one.name in busy and one.change is not None else (outcomes or {}).get(one.name)
            outcome = self._act(one, given, arrives=arrives)
            concluded = apply_outcome(one, outcome)
            before = self.histories[one.name].pending
            if one.name in counted:
                settled = settle(concluded, counted[one.name])
                self.counted[one.name, one.now] = settled.instances
                if before is not None and settled.before:
                    self.counted[one.name, before.at] = settled.before
            history = remember(self.scalers[one.name], self.histories[one.name], concluded)
            self.histories[one.name] = history
            size = counted_size(concluded, history.pending)
            self.known[one.name] = self.known[one.name] if size is None else size
            done[one.name] = concluded
        return done

    def within(self, period: timedelta, counts: Sequence[tuple[datetime, int]]) -> int:
        """Return the largest sum of counts in any period."""
        return max((sum(n for at, n in counts if until - period < at <= until) for until, _ in counts), default=0)

    def _decide(self, name: str, load: int | TargetError) -> Decision:
        target = load if isinstance(load, TargetError) else state(self.sizes[name])
        readings = (value(0 if isinstance(load, TargetError) else 1000 * load),)
        return decide(self.scalers[name], Observation(target, readings), self.histories[name], self.now)

    def _count(self, made: Decision) -> Counted | None:
        known = self.histories[made.name].pending
        period = self.limits.removal_budget.period if self.limits.removal_budget else timedelta(0)
        recent = known is not None and made.now - known.at < period
        found = self.counted.get((made.name, known.at), 0) if known is not None and recent else 0
        counted = count(made, known, found)
        if counted is not None:
            self.counted[made.name, made.now] = counted.instances
            if counted.before and known is not None:
                del self.counted[made.name, known.at]
        return counted

    def _act(self, made: Decision, outcome: Outcome | None, *, arrives: bool) -> Outcome | None:
        if made.change is None:
            return None
        outcome = outcome or Written(made.change.size)
        unanswered = isinstance(outcome, TargetUnavailable)
        if isinstance(outcome, Written) or (unanswered and arrives):
            size = outcome.size if isinstance(outcome, Written) else made.change.size
            gone = self.sizes[made.name] - size
            if gone > 0:
                self.left.append((made.now, gone))
            self.sizes[made.name] = size
        return outcome
