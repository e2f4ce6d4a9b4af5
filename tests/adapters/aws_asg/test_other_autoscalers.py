"""Scaling policies and scheduled actions of a group are other autoscalers of it."""

import pytest

from tests.adapters.aws_asg.conftest import Cloud, LiveAdapter

pytestmark = pytest.mark.slow


def test_scaling_policies_and_scheduled_actions_are_a_warning_of_two_autoscalers(
    cloud: Cloud, connection: LiveAdapter
) -> None:
    """Each of the two autoscalers would overwrite the other's sizes."""
    cloud.create("two", 1)
    cloud.create("one", 1)
    cloud.add_policy("two", "cpu")
    cloud.add_schedule("two", "nights")
    warnings = " ".join(connection.state("two").warnings)
    assert "scaling policy cpu" in warnings
    assert "scheduled action nights" in warnings
    assert "remove it, suspend the group's process AlarmNotification, or remove this autoscaler" in warnings
    assert connection.state("one").warnings == ()


def test_a_policy_that_only_forecasts_or_is_disabled_is_no_autoscaler(cloud: Cloud, connection: LiveAdapter) -> None:
    """A wrong warning would devalue the right ones."""
    cloud.create("idle", 1)
    cloud.add_forecast("idle", "forecast", "ForecastOnly")
    cloud.add_policy("idle", "off")
    cloud.server.backend.policies["off"].enabled = False  # type: ignore[attr-defined] # moto has no such field
    assert connection.state("idle").warnings == ()


def test_other_autoscalers_are_looked_for_every_ten_minutes(cloud: Cloud, connection: LiveAdapter) -> None:
    """They are not read every cycle, and not only at the start."""
    cloud.create("later", 1)
    cloud.world.advance(0)
    connection.state("later")
    cloud.add_policy("later", "cpu")
    assert connection.state("later").warnings == ()
    cloud.world.advance(600)
    assert len(connection.state("later").warnings) == 1


def test_a_policy_whose_process_is_suspended_is_no_autoscaler(cloud: Cloud, connection: LiveAdapter) -> None:
    """Suspending is the cut-over that can be taken back. A resumed process counts in the next cycle.

    Source: Amazon EC2 Auto Scaling User Guide, "Suspend and resume Amazon EC2 Auto Scaling processes".
    """
    cloud.create("moved", 1)
    cloud.add_policy("moved", "cpu")
    cloud.add_schedule("moved", "nights")
    seen = []
    for processes in (["AlarmNotification"], ["ScheduledActions"], []):
        suspend = {"AutoScalingGroupName": "moved", "ScalingProcesses": processes}
        (cloud.autoscaling.suspend_processes if processes else cloud.autoscaling.resume_processes)(**suspend)
        seen.append([warning.split(" also ")[0] for warning in connection.state("moved").warnings])
    both = ["scaling policy cpu", "scheduled action nights"]
    assert seen == [["scheduled action nights"], [], both]


def test_predictive_scaling_has_no_process_to_suspend(cloud: Cloud, connection: LiveAdapter) -> None:
    """It follows no alarm, so that the warning stays and names removal alone."""
    cloud.create("foreseen", 1)
    cloud.add_forecast("foreseen", "forecast", "ForecastAndScale")
    cloud.autoscaling.suspend_processes(AutoScalingGroupName="foreseen", ScalingProcesses=["AlarmNotification"])
    (warning,) = connection.state("foreseen").warnings
    assert warning.startswith("scaling policy forecast also changes this group's size; remove it, or remove this")
