"""Made-up cycles, demands and courses."""

from array import array
from collections.abc import Iterable, Sequence
from datetime import timedelta

from autoscaler.model import (
    Autoscaler,
    MetricType,
    Observation,
    TargetType,
)
from autoscaler.whatif.compare.document import Part, ReplayDocument, replay_document
from autoscaler.whatif.compare.fit import Fit
from autoscaler.whatif.past.past import Cycle, Finding
from autoscaler.whatif.replay.course import Course
from autoscaler.whatif.replay.demand import Demand, DemandRecorder
from autoscaler.whatif.replay.start_up import UNKNOWN_TIME
from tests.decide.build import NOW, QUEUE_15, metric, scaler, state, value

EVERY = 15.0
WEB = scaler(QUEUE_15)
"""15 waiting for each replica."""


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)


def cycle(after: float, needed: float, size: int = 3, autoscaler: Autoscaler = WEB) -> Cycle:
    """A cycle `after` seconds, in which this many replicas were needed and `size` existed."""
    return Cycle(NOW + seconds(after), Observation(state(size), (value(round(needed * 15_000)),)), autoscaler)


def demand_over(reference: Autoscaler | None, cycles: Iterable[Cycle]) -> Demand:
    """The demand of a past. `reference` as in DemandRecorder."""
    recorder = DemandRecorder(reference)
    for each in cycles:
        recorder.add(each)
    return recorder.demand()


def curve(needed: Sequence[float], times: Sequence[float] | None = None, reference: Autoscaler = WEB) -> Demand:
    """The demand of cycles 15 s apart, or at these times."""
    after = [place * EVERY for place in range(len(needed))] if times is None else times
    return demand_over(
        reference, [cycle(at, each, autoscaler=reference) for at, each in zip(after, needed, strict=True)]
    )


def course(
    sizes: Sequence[int], times: Sequence[float] | None = None, *, ready: Sequence[int] = (), maximum: int = 10
) -> Course:
    """The course of these sizes; `ready`: if it is not the size."""
    made = Course("candidate", seconds(EVERY))
    after = [place * EVERY for place in range(len(sizes))] if times is None else times
    made.at = array("d", [(NOW + seconds(each)).timestamp() for each in after])
    made.size = array("l", sizes)
    made.ready = array("l", ready or sizes)
    made.maximum = array("l", [maximum] * len(sizes))
    return made


def made_up(
    demand: Demand, *courses: Course, findings: Sequence[Finding] = (), fit: Fit | None = None
) -> ReplayDocument:
    """The document of these courses over a past of a minute."""
    return replay_document(
        courses,
        demand,
        findings,
        fit,
        demand_is_known=True,
        name="web",
        since=NOW,
        until=NOW + seconds(60),
        part=Part("list", NOW, NOW),
        same=0,
        compared=0,
        start_up=UNKNOWN_TIME,
    )


def swinging(minutes: float) -> float:
    """From 2 to 8 and back in forty minutes."""
    return 2 + 6 * abs((minutes % 40) / 20 - 1)


LOAD = metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 600)
"""Not cpu: the HPA ignores the cpu of starting instances."""
