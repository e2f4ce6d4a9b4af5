"""A target and the shadow of its dry run over the same time, measured as the candidates of a replay are."""

from array import array
from collections.abc import Iterable
from datetime import datetime, timedelta
from math import nan
from typing import NamedTuple

from msgspec.structs import replace

from autoscaler.decide.shadow import unknown_backlogs
from autoscaler.foresee.compare.measures import Measures, measures
from autoscaler.foresee.past.past import Moment
from autoscaler.foresee.replay.course import Course
from autoscaler.foresee.replay.demand import Demand, seconds_of
from autoscaler.foresee.replay.replay import Replayed
from autoscaler.model import History, Shadow, TargetState


class ShadowComparison(NamedTuple):
    """What both came to."""

    since: datetime
    until: datetime
    """The end of the last cycle, which stands for one sync period."""
    cycles: int
    target: Measures
    """No demand is known here, so neither has measures of elasticity. Saturated is what the shadow called so."""
    shadow: Measures
    guessed_seconds: float
    """In which nobody knows how long a backlog would have been under the shadow."""


def comparison(moments: Iterable[Moment]) -> ShadowComparison | None:
    """Of the recorded cycles that have a shadow and whose target could be read, in order; None: there is none.

    They are not decided again, and none of them is kept.
    """
    target, shadow = Course("target"), Course("shadow")
    periods, saturated, guessed = array("d"), bytearray(), bytearray()
    begin = end = None
    for moment in moments:
        made, scaler = moment.decision, moment.scaler
        if made is None or scaler is None or made.shadow_memory is None or made.current is None:
            continue
        if end is not None and made.now <= end:
            continue  # the wall clock was set back, and this time has been counted
        begin, end = begin or made.now, made.now
        recorded = Replayed(moment, made, scaler, moment.observation, moment.history or History())
        shadow.add(recorded)
        # The decision's metrics are as the shadow saw them. Of the target's it is known whether one was above target.
        target.add_seen(recorded._replace(decision=replace(made, shadow=None, shadow_memory=None, metrics=())))
        target.above[-1] = made.shadow_memory.above
        periods.append(scaler.sync_period.total_seconds())
        saturated.append(made.shadow_memory.saturated)
        guessed.append(_is_guessed(recorded, made.shadow_memory))
    if begin is None or end is None:
        return None
    count = len(periods)
    seconds, unknown = seconds_of(shadow.at, periods), array("d", [nan]) * count
    over = Demand(shadow.at, unknown, seconds, saturated, bytearray([1]) * count)
    return ShadowComparison(
        begin,
        end + timedelta(seconds=seconds[-1]),
        count,
        measures(target, over),
        measures(shadow, over),
        sum([each for each, is_guess in zip(seconds, guessed, strict=True) if is_guess]),
    )


def _is_guessed(one: Replayed, shadow: Shadow) -> bool:
    state = one.observation.target
    if not shadow.backlogs or not isinstance(state, TargetState):
        return False
    return any(unknown_backlogs(one.scaler, state, shadow, shadow.ready(one.decision.now)))
