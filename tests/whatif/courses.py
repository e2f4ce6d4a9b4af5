"""Made-up pasts and courses."""

from array import array
from collections.abc import Sequence
from datetime import timedelta

from autoscaler.model import Autoscaler, Observation
from autoscaler.whatif.past.past import Moment
from autoscaler.whatif.replay.course import Change, Course
from autoscaler.whatif.replay.demand import Demand, demand_over
from tests.decide.build import NOW, QUEUE_15, scaler, state, value

EVERY = 15.0
WEB = scaler(QUEUE_15)
"""15 waiting for each replica."""


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)


def moment(after: float, needed: float, size: int = 3, autoscaler: Autoscaler | None = None) -> Moment:
    """A cycle `after` seconds, in which so many replicas were needed and `size` were there."""
    return Moment(NOW + seconds(after), Observation(state(size), (value(round(needed * 15_000)),)), scaler=autoscaler)


def curve(needed: Sequence[float], times: Sequence[float] | None = None, reference: Autoscaler = WEB) -> Demand:
    """The demand of cycles 15 s apart, or at these times."""
    after = [place * EVERY for place in range(len(needed))] if times is None else times
    return demand_over(reference, [moment(at, each) for at, each in zip(after, needed, strict=True)])


def course(
    sizes: Sequence[int], times: Sequence[float] | None = None, *, ready: Sequence[int] = (), maximum: int = 10
) -> Course:
    """What a candidate's sizes were; `ready`: where others than the size were. Every difference is a change."""
    made = Course("candidate", WEB)
    after = [place * EVERY for place in range(len(sizes))] if times is None else times
    made.at = array("d", [(NOW + seconds(each)).timestamp() for each in after])
    made.size = array("l", sizes)
    made.ready = array("l", ready or sizes)
    made.desired = array("l", [*sizes[1:], sizes[-1]])
    made.maximum = array("l", [maximum] * len(sizes))
    for at, before, then in zip(after, sizes, sizes[1:], strict=False):
        if before != then:
            made.changes.append(Change(NOW + seconds(at), before, then, "SucceededRescale", "because"))
    return made
