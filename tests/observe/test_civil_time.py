"""Civil time is compared with the clock of each Prometheus that an autoscaler asks."""

import dataclasses
from datetime import timedelta

import pytest

from autoscaler.config.settings import PrometheusSource
from autoscaler.model import CivilTime, MetricType, Query, Rules
from autoscaler.observe.freshness import ServerTime
from autoscaler.observe.observer import Observer
from autoscaler.observe.targets import Connection
from autoscaler.rules.schedules import Schedules
from autoscaler.target.contract import RecordingLogger
from autoscaler.windows import ScheduleEntry
from tests.clocks import MovedClock
from tests.observe.build import CLOCK, NOW, TARGET, FakeAdapter, call, metric, scaler, state
from tests.observe.fake import ONE, answering

SECOND = timedelta(seconds=1)
QUEUE = metric(MetricType.EXTERNAL, Query("q"))
OFFICE = Rules([Schedules((ScheduleEntry("office", "UTC", "0 8 * * *", timedelta(hours=1), min_replicas=3),))])


@pytest.mark.parametrize(("ahead", "doubted"), [(0, False), (30, False), (-30, False), (90, True), (-3600, True)])
def test_a_civil_time_is_in_doubt_from_a_minute_on(ahead: float, doubted: bool) -> None:
    """By the header Date, which the fake server sets to the real time."""
    with answering(lambda request: request.reply(ONE)) as server:
        adapter = FakeAdapter({TARGET: state()})
        connections = {"fleet": Connection("fleet", adapter, CLOCK, RecordingLogger())}
        observer = Observer({"default": PrometheusSource(server.url)}, connections, CLOCK, RecordingLogger())
        with_schedule = dataclasses.replace(scaler(QUEUE), rules=OFFICE)
        without = dataclasses.replace(scaler(QUEUE), name="other")
        try:
            seen = observer.observe([with_schedule, without], call(), civil_ahead=ahead * SECOND).observations
        finally:
            observer.close()
    assert seen[with_schedule.name].civil == CivilTime(ahead * SECOND, doubted)
    assert seen[without.name].civil == CivilTime()


def test_civil_time_that_agrees_with_the_source_is_not_in_doubt() -> None:
    """This machine's clock is an hour slow, and the state knows by how much civil time is ahead of it."""
    slow = timedelta(hours=1)
    with answering(lambda request: request.reply(ONE)) as server:
        connections = {"fleet": Connection("fleet", FakeAdapter({TARGET: state()}), CLOCK, RecordingLogger())}
        clock = MovedClock(-slow)
        observer = Observer({"default": PrometheusSource(server.url)}, connections, clock, RecordingLogger())
        one = dataclasses.replace(scaler(QUEUE), rules=OFFICE)
        try:
            seen = observer.observe([one], call(), civil_ahead=slow).observations
        finally:
            observer.close()
    assert seen[one.name].civil == CivilTime(slow, doubted=False)


def test_a_servers_time_goes_on_while_it_does_not_answer() -> None:
    """By the time since its last answer, which setting this machine's clock does not change."""
    known = ServerTime(NOW, 1000.0)
    assert not known.differs(NOW + timedelta(hours=1), 1000.0 + 3600)
    assert known.differs(NOW, 1000.0 + 3600)
    assert [known.differs(NOW + each * SECOND, 1000.0) for each in (-60, -59, 59, 60)] == [True, False, False, True]
