"""Many shards use a connection's limits at once, each in its own thread. In every order the sizes and the removals stay
within the limits.
"""

import random
import threading
from collections.abc import Iterator, Sequence
from datetime import timedelta

import pytest

from autoscaler.decide import apply_outcome
from autoscaler.errors import TargetUnavailable
from autoscaler.limits.connection_limits import apply_limits
from autoscaler.model import (
    CONNECTION_LIMITS,
    Autoscaler,
    ConnectionLimits,
    Decision,
    Outcome,
    ScaleChange,
    ShardName,
    Status,
    TargetRef,
    Written,
    shard_of,
)
from autoscaler.record.housekeeping import Retention
from autoscaler.record.ledger import Ledger
from autoscaler.record.state import State
from tests.decisions import bounds, remembering
from tests.limits.fleet import limits
from tests.record.conftest import Opener, in_threads
from tests.record.samples import FLEET, at, decision, save, scaler
from tests.replaced import replace

NAMES = [f"s{number}" for number in range(24)]
SHARDS = 4
CYCLES = 12


class Targets:
    """The connection's targets, and all their changes."""

    def __init__(self, limited: ConnectionLimits) -> None:
        self.limits = limited
        self.sizes = dict.fromkeys(NAMES, 4)
        self.largest = 0
        self.felt = False
        """Whether the limit has cut a decision."""
        self.removed: list[tuple[int, int]] = []
        """How many instances left in which cycle."""
        self._lock = threading.Lock()

    def write(self, cycle: int, made: Decision) -> None:
        assert made.change is not None
        with self._lock:
            gone = self.sizes[made.name] - made.change.size
            self.removed += [(cycle, gone)] if gone > 0 else []
            self.sizes[made.name] = made.change.size
            self.largest = max(self.largest, sum(self.sizes.values()))


def wanting(cycle: int, name: str, current: int, size: int) -> Decision:
    """Return a decision for this size, with bounds of 1 and 100."""
    made = decision(15 * cycle, name, name, size=size)
    change = None if size == current else ScaleChange(f"{name}-{cycle}", size, current, None, "load")
    made = replace(made, current=current, change=change, bounds=bounds(1, 100), conditions=())
    return remembering(made, status=Status(current, size))


def cycles(ledger: Ledger, scalers: Sequence[Autoscaler], targets: Targets, seed: int) -> None:
    """Run the cycles of a shard. Some writes have no answer and arrive nevertheless."""
    dice = random.Random(seed)
    for cycle in range(CYCLES):
        now = at(15 * cycle)
        history = ledger.recall(scalers)
        made = [wanting(cycle, one.name, targets.sizes[one.name], dice.choice((1, 9, 9))) for one in scalers]
        decisions = apply_limits(made, history, ledger.standing(now), now).decisions
        targets.felt |= any(step.reason in CONNECTION_LIMITS for one in decisions for step in one.trace)
        broken = ledger.intend(decisions)
        intended = [one for one in decisions if one.name not in broken]
        concluded = []
        for one in intended:
            outcome: Outcome | None = None
            if one.change is not None:
                targets.write(cycle, one)
                outcome = TargetUnavailable("no answer") if dice.random() < 0.2 else Written(one.change.size)
            concluded.append(apply_outcome(one, outcome))
        if concluded:
            save(ledger, *concluded, scalers={one.name: one for one in scalers})


def known(ledger: Ledger, scalers: Sequence[Autoscaler], targets: Targets) -> None:
    """Run a first cycle in which nothing changes."""
    ledger.recall(scalers)
    made = [wanting(0, one.name, targets.sizes[one.name], targets.sizes[one.name]) for one in scalers]
    save(ledger, *made, scalers={one.name: one for one in scalers})


def all_at_once(state: State, targets: Targets) -> None:
    """Run the shards of the state at the same time."""
    works = []
    state.follow(Retention(), [scaler(name, name) for name in NAMES])
    for shard in [ShardName(FLEET, number + 1, SHARDS) for number in range(SHARDS)]:
        mine = [scaler(name, name) for name in NAMES if shard_of(TargetRef(FLEET, name), shard.of) == shard]
        ledger = state.ledger(FLEET, shard.number, shard.of)
        ledger.follow(mine, limits=targets.limits)
        known(ledger, mine, targets)
        works.append((ledger, mine, shard.number))
    assert all(mine for _, mine, _ in works)
    shards = [lambda work=work: cycles(work[0], work[1], targets, work[2]) for work in works]
    with in_threads(shards) as raised:
        pass
    assert raised == []


@pytest.fixture(params=[limits(total=110), limits(8, 60)], ids=["maxTotal", "removalBudget"])
def targets(request: pytest.FixtureRequest) -> Iterator[Targets]:
    """Yield the targets. At the end the limit has cut a decision and was never exceeded."""
    targets = Targets(request.param)
    yield targets
    if targets.limits.max_total is not None:
        assert targets.largest <= targets.limits.max_total
    elif targets.limits.removal_budget is not None:
        period = targets.limits.removal_budget.period // timedelta(seconds=15)
        most = [sum(n for at, n in targets.removed if until - period < at <= until) for until in range(CYCLES)]
        assert max(most) <= targets.limits.removal_budget.instances
    assert targets.felt


def test_the_shards_of_a_daemon_never_exceed_a_limit(opener: Opener, targets: Targets) -> None:
    all_at_once(opener.state(), targets)
