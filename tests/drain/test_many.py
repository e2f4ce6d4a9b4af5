"""The work of a cycle grows as its drains do. A thousand instances may leave at once."""

import pytest

from autoscaler.decide import decide
from autoscaler.drain.drainer import Drainer
from autoscaler.model import (
    AwaitingDrain,
    Decision,
    DrainReport,
    History,
    Observation,
    Observed,
    Rules,
    TargetRef,
    TargetState,
)
from autoscaler.rules.drain import Drain, DrainAction, DrainMemory, DrainRule
from autoscaler.target.contract import RecordingLogger
from tests.clocks import FakeClock
from tests.decide.build import NOW, first_decision, instances, scaler, state
from tests.decisions import remembering
from tests.drain.backend import BackEnd
from tests.operations import operations
from tests.replaced import replace

_RULE = DrainRule(command=("/bin/true",))
_MANY = 64


def _drained(targets: int, each: int, most: int) -> int:
    """Return the operations of a shard's second cycle with so many targets and drains of each."""
    drainer = Drainer(BackEnd(), {}, FakeClock(NOW), RecordingLogger(), most=most)
    scalers = {str(n): replace(scaler(), name=str(n), target=TargetRef("fleet", str(n))) for n in range(targets)}
    scalers = {name: replace(one, rules=Rules([_RULE])) for name, one in scalers.items()}
    waiting = tuple(AwaitingDrain(f"i-{n}") for n in range(each))
    drains = tuple(Drain(one.instance, NOW, DrainAction.COMMAND) for one in waiting)
    seen = replace(state(1), awaiting_drain=waiting)
    observed = Observed(dict.fromkeys(scalers, Observation(seen, ())))
    first = first_decision(scaler(), TargetState(1, 1, ()))
    recorded = [
        remembering(replace(first, name=name, target=one.target), rules={"drain": DrainMemory(drains)})
        for name, one in scalers.items()
    ]
    began = operations(lambda: drainer.follow(scalers, observed, recorded))
    went_on = operations(lambda: drainer.follow(scalers, observed, recorded))
    gone = operations(lambda: drainer.keep([]))
    drainer.close()
    return began + went_on + gone


@pytest.mark.parametrize("targets", [True, False])
def test_the_work_of_drains_that_wait_for_their_turn_is_linear(targets: bool) -> None:
    """Of one target with many, and of many targets with one each."""
    few, many = [_drained(*((n, 1) if targets else (1, n)), most=0) for n in (_MANY, 4 * _MANY)]
    assert many < 5 * few


def _decided(count: int) -> int:
    """Return the operations of a decision with so many drains: they begin, go on, and end."""
    one = replace(scaler(), rules=Rules([_RULE]))
    awaiting = tuple(AwaitingDrain(f"i-{n}") for n in range(count))
    seen = replace(state(count, instances(count)), awaiting_drain=awaiting)
    reports = tuple(DrainReport(each.instance, detail="it waits") for each in awaiting)

    def life() -> Decision:
        began = decide(one, Observation(seen, ()), History(), NOW)
        on = decide(one, Observation(seen, (), drains=reports), History(rules=began.remembered.rules), NOW)
        gone = replace(seen, awaiting_drain=())
        return decide(one, Observation(gone, ()), History(rules=on.remembered.rules), NOW)

    return operations(life)


def test_a_decision_with_many_drains_is_linear() -> None:
    """It matches reports, waiting instances and remembered drains by name."""
    assert _decided(4 * _MANY) < 5 * _decided(_MANY)
