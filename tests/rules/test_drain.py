"""Drains of instances that leave: when they begin, how they end, and what is remembered of them."""

from datetime import datetime, timedelta
from typing import Final

from autoscaler.decide import decide, remember
from autoscaler.errors import TargetUnavailable
from autoscaler.model import (
    NO_RULES,
    Autoscaler,
    AwaitingDrain,
    Decision,
    Direction,
    DrainOutcome,
    DrainReport,
    Event,
    EventType,
    History,
    ManualControls,
    MetricType,
    Observation,
    Pause,
    Rules,
    TargetState,
    TargetType,
)
from autoscaler.rules.drain import BEGAN, ENDED, Drain, DrainAction, DrainRule, drains_of
from tests.decide.build import NOW, instances, metric, scaler, state, value
from tests.replaced import replace

RULE: Final = DrainRule(timedelta(minutes=15), command=("/bin/drain",))
WEB: Final = replace(scaler(metric(MetricType.EXTERNAL, TargetType.AVERAGE_VALUE, 1000)), rules=Rules([RULE]))
DONE: Final = DrainReport("i-0", outcome=DrainOutcome.DONE, released=True)


def leaving(*names: str, listed: tuple[str, ...] | None = None) -> TargetState:
    """A target of two whose instances of these names wait. `listed`: those that leave, also those that do not wait."""
    out = [replace(instances(1)[0], name=name, deleting=True) for name in (names if listed is None else listed)]
    return replace(state(2, [*instances(4)[2:], *out]), awaiting_drain=tuple(map(AwaitingDrain, names)))


def cycle(
    target: TargetState | TargetUnavailable,
    history: History = History(),  # noqa: B008 - it is frozen
    *reports: DrainReport,
    seconds: float = 0,
    of: Autoscaler = WEB,
) -> tuple[Decision, History]:
    """The decision that wants the size of two, and what is remembered of it."""
    now = NOW + timedelta(seconds=seconds)
    made = decide(of, Observation(target, (value(2000),), drains=reports), history, now)
    return made, remember(of, history, made)


def drains(made: Decision) -> tuple[Drain, ...]:
    """Return the drains under way and those just ended."""
    return drains_of(made.remembered.rules.of)


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def test_a_drain_goes_on_while_it_is_unknown_what_waits() -> None:
    """AWS' hooks could not be read since the restart: the instance may wait, and must not be forgotten."""
    _, history = cycle(leaving("i-0"))
    made, history = cycle(replace(leaving("i-0"), awaiting_drain=None), history, seconds=15)
    assert [(drain.instance, drain.ended) for drain in drains_of(history.rules.of)] == [("i-0", None)]
    assert not [event for event in made.events if event.reason == ENDED]


def test_a_drain_begins_with_the_first_cycle_that_sees_its_instance_wait() -> None:
    """It is remembered before its action begins, so that another daemon continues it with its timeout."""
    made, history = cycle(leaving("i-0"))
    began = Drain("i-0", NOW, DrainAction.COMMAND)
    assert drains(made) == drains_of(history.rules.of) == (began,)
    message = "instance i-0 is drained by command, for at most 15m"
    assert made.events == (Event(EventType.NORMAL, BEGAN, message),)
    again, history = cycle(leaving("i-0"), history, seconds=15)
    assert (drains(again), again.events) == ((began,), ())


def test_a_drain_ends_once_its_back_end_was_told_to_go_on() -> None:
    """A request to let the instance go may fail; the drain is then still under way."""
    _, history = cycle(leaving("i-0"))
    told = replace(DONE, released=False, detail="AWS does not answer")
    made, history = cycle(leaving("i-0"), history, told, seconds=30)
    assert drains(made) == (Drain("i-0", NOW, DrainAction.COMMAND, "AWS does not answer"),)
    made, history = cycle(leaving("i-0"), history, DONE, seconds=43)
    assert drains(made) == (Drain("i-0", NOW, DrainAction.COMMAND, "", after(43), DrainOutcome.DONE),)
    assert [each.message for each in made.events] == ["instance i-0 is drained and was let go after 43s"]


def test_a_drain_that_ended_does_not_begin_again() -> None:
    """Another hook may keep the instance waiting. What is gone is forgotten."""
    _, history = cycle(leaving("i-0"))
    _, history = cycle(leaving("i-0"), history, DONE, seconds=15)
    made, history = cycle(leaving("i-0"), history, seconds=30)
    assert (made.events, [each.ended for each in drains(made)]) == ((), [after(15)])
    made, history = cycle(leaving(listed=("i-0",)), history, seconds=45)
    assert (made.events, len(drains(made))) == ((), 1)
    made, _ = cycle(leaving(), history, seconds=60)
    assert made.events == ()
    assert DrainRule.name not in made.remembered.rules.of


def test_a_timeout_is_a_warning() -> None:
    """An operator must learn that connections may have been cut, and why."""
    _, history = cycle(leaving("i-0"))
    late = DrainReport("i-0", "/bin/drain exited with 3", DrainOutcome.TIMED_OUT, released=True)
    made, _ = cycle(leaving("i-0"), history, late, seconds=900)
    message = "instance i-0 was let go at the drain's timeout after 15m: /bin/drain exited with 3"
    assert made.events == (Event(EventType.WARNING, ENDED, message),)


def test_an_instance_that_no_longer_waits_is_drained_no_further() -> None:
    """AWS ends a wait at the hook's heartbeat, and an operator may complete it. The daemon may have died before."""
    _, history = cycle(leaving("i-0", "i-1"))
    made, history = cycle(leaving("i-1"), history, seconds=20)
    assert {each.instance: each.outcome for each in drains(made)} == {"i-0": DrainOutcome.GONE, "i-1": None}
    assert "is gone, or was let go by its back end" in made.events[0].message
    made, _ = cycle(leaving(), history, replace(DONE, instance="i-1", released=False), seconds=30)
    assert [(each.instance, each.outcome) for each in drains(made)] == [("i-1", DrainOutcome.DONE)]


def test_a_drain_goes_on_while_its_target_cannot_be_read() -> None:
    """An outage is neither an end nor a beginning."""
    _, history = cycle(leaving("i-0"))
    made, history = cycle(TargetUnavailable("no answer"), history, seconds=15)
    assert drains(made) == (Drain("i-0", NOW, DrainAction.COMMAND),)
    made, _ = cycle(leaving("i-0"), history, seconds=30)
    assert drains(made) == (Drain("i-0", NOW, DrainAction.COMMAND),)


def test_drains_need_a_rule_and_a_live_autoscaler() -> None:
    """A dry run touches nothing; a rule that is removed ends what is under way."""
    for of in (replace(WEB, dry_run=True), replace(WEB, rules=NO_RULES)):
        made, _ = cycle(leaving("i-0"), of=of)
        assert drains(made) == ()
        assert BEGAN not in [each.reason for each in made.events]
    _, history = cycle(leaving("i-0"))
    made, _ = cycle(leaving("i-0"), history, of=replace(WEB, rules=NO_RULES))
    assert drains(made) == ()
    assert "is no longer drained" in made.events[0].message


def test_a_paused_autoscaler_drains() -> None:
    """The connections of an instance need the drain, whatever ends it."""
    paused = History(manual=ManualControls(pause=Pause(Direction.BOTH, "ann", "", NOW, None)))
    made, _ = cycle(leaving("i-0"), paused)
    assert [each.instance for each in drains(made)] == ["i-0"]
