"""Schedules on the virtual clock."""

from typing import Any

import pytest

from tests.scenarios.building import Project, per_instance, web

OFFICE = {"cron": "10 8 * * *", "duration": "1h", "timezone": "UTC", "minReplicas": 6}
NIGHT = {"cron": "10 8 * * *", "until": "0 9 * * *", "timezone": "UTC", "maxReplicas": 0}
LOAD = {"values": {"queue": "20"}, "replicas": 2}


def with_schedules(project: Project, *entries: dict[str, Any]) -> None:
    project.configure(web(schedules=entries))


@pytest.mark.slow
def test_a_target_is_switched_off_at_night_and_on_again(project: Project) -> None:
    """Also one with metrics of each instance, which have no value then."""
    project.configure(per_instance(schedules=[NIGHT], minReplicas=2))
    project.passes(
        {"at": "9m", "size": 2},
        {"at": "14m", "within": "2m", "size": 0},
        {"always": "size = 0", "from": "16m", "to": "59m"},
        {"at": "30m", "reason": "TooManyReplicas"},
        {"at": "60m", "size": 2},
        {"at": "65m", "size": 4},
        subject={"values": {}, "load": {"load": "20x61 40"}, "replicas": 2},
    )


@pytest.mark.slow
def test_a_restart_inside_a_window_changes_nothing(project: Project) -> None:
    with_schedules(project, OFFICE)
    project.passes(
        {"always": "size = 6", "from": "10m", "to": "40m"},
        {"changes": "1"},
        subject=LOAD,
        events=[{"at": "20m", "restart": True, "for": "5m"}],
    )


def test_a_clock_that_is_set_by_less_than_a_minute_opens_a_window(project: Project) -> None:
    with_schedules(project, OFFICE)
    project.passes(
        {"at": "9m", "size": 2},
        {"at": "9m30s", "size": 6},
        subject=LOAD,
        events=[{"at": "9m10s", "clock": "+30s"}],
    )


@pytest.mark.slow
def test_a_clock_that_is_wrong_by_a_minute_or_more_switches_nothing_off(project: Project) -> None:
    """Prometheus' own time is the reference. As soon as the clock is right, the window is open."""
    with_schedules(project, NIGHT)
    project.passes(
        {"always": "size = 2", "to": "24m"},
        {"at": "25m", "within": "6m", "size": 0},
        subject=LOAD,
        events=[{"at": "1m", "clock": "+15m"}, {"at": "21m", "clock": "-15m"}],
    )


@pytest.mark.slow
def test_a_start_with_a_wrong_clock_raises_and_never_lowers(project: Project) -> None:
    """The host believes in eight hours ago, when the window of the night was not open, and that of the day was."""
    day = {"cron": "0 0 * * *", "duration": "1h", "timezone": "UTC", "minReplicas": 6}
    with_schedules(project, day, NIGHT | {"cron": "30 0 * * *", "until": "0 1 * * *"})
    project.passes(
        {"at": "2m", "size": 6},
        {"always": "size = 6", "from": "2m", "to": "45m"},
        subject=LOAD,
        events=[{"at": "0", "clock": "-8h"}, {"at": "30s", "restart": True, "for": "30s"}],
    )
