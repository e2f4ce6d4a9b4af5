"""What may happen in a test."""

import pytest

from tests.scenarios.building import Project, per_instance

FALLING = {"replicas": 4, "values": {"queue": "40x4 10"}}
"""The load falls after five minutes, and the window of five minutes ends at 08:10."""


def test_a_deployment_holds_both_directions(project: Project) -> None:
    project.passes(
        {"always": "size = 2", "to": "14m59s"},
        {"at": "10m", "reason": "DeploymentInProgress"},
        {"at": "15m", "size": 4},
        subject={"values": {"queue": "20x4 40"}, "replicas": 2},
        events=[{"at": "4m", "deployment": "web", "for": "11m"}],
    )


def test_a_deployment_may_reset_the_size(project: Project) -> None:
    project.passes(
        {"at": "5m", "size": 1},
        {"always": "size = 1", "from": "5m", "to": "9m"},
        {"at": "10m", "size": 4},
        subject={"values": {"queue": "40"}, "replicas": 4},
        events=[{"at": "5m", "deployment": "web", "for": "5m", "replicas": 1}],
    )


@pytest.mark.parametrize(
    ("source", "reason"), [("prometheus.default", "FailedGetExternalMetric"), ("adapters.trial", "FailedGetScale")]
)
def test_an_outage_keeps_the_size(project: Project, source: str, reason: str) -> None:
    project.passes(
        {"always": "size = 2", "to": "9m59s"},
        {"at": "8m", "reason": reason},
        {"at": "10m", "size": 4},
        subject={"values": {"queue": "20x4 40"}, "replicas": 2},
        events=[{"at": "4m", "outage": source, "for": "6m"}],
    )


def test_a_size_set_by_hand_is_corrected_in_the_next_cycle(project: Project) -> None:
    project.passes(
        {"at": "5m10s", "size": 1},
        {"at": "5m15s", "size": 4},
        subject={"values": {"queue": "40"}, "replicas": 4},
        events=[{"at": "5m10s", "resize": "web", "replicas": 1}],
    )


def test_a_pause_ends_by_itself(project: Project) -> None:
    project.passes(
        {"always": "size = 2", "to": "9m59s"},
        {"at": "8m", "reason": "Paused"},
        {"at": "10m", "size": 4},
        subject={"values": {"queue": "20x4 40"}, "replicas": 2},
        events=[{"at": "4m", "pause": "web", "direction": "out", "for": "6m"}],
    )


def test_resume_ends_an_override(project: Project) -> None:
    project.passes(
        {"at": "5m", "size": 8},
        {"always": "size = 8", "from": "5m", "to": "10m"},
        {"at": "30m", "size": 2},
        events=[{"at": "5m", "override": "web", "minReplicas": 8}, {"at": "11m", "resume": "web"}],
    )


@pytest.mark.parametrize("step", ["+1h", "-1h"])
def test_setting_the_clock_ends_no_window_and_makes_none_longer(project: Project, step: str) -> None:
    project.passes(
        {"always": "size = 4", "to": "9m59s"},
        {"at": "10m", "size": 1},
        subject=FALLING,
        events=[{"at": "6m", "clock": step}],
    )


def test_a_restart_forgets_nothing(project: Project) -> None:
    project.passes(
        {"always": "size = 4", "to": "9m59s"},
        {"at": "10m", "size": 1},
        subject=FALLING,
        events=[{"at": "6m", "restart": True, "for": "2m"}],
    )


def test_a_daemon_that_is_down_changes_nothing(project: Project) -> None:
    project.passes(
        {"always": "size = 2", "to": "11m"},
        {"at": "12m", "size": 4},
        subject={"values": {"queue": "20x4 40"}, "replicas": 2},
        events=[{"at": "5m", "restart": True, "for": "7m"}],
    )


def test_events_of_one_autoscaler_do_not_affect_the_others(project: Project) -> None:
    project.configure(per_instance(), per_instance(name="api", scaleTargetRef={"adapter": "trial", "name": "api"}))
    body = {"replicas": 2, "load": {"load": "40"}}
    project.passes(
        events=[{"at": "0", "deployment": "web", "for": "5m"}],
        autoscalers={
            "web": body | {"expect": [{"always": "size = 2", "to": "4m"}, {"at": "6m", "size": 4}]},
            "api": body | {"expect": [{"at": "0", "size": 4}]},
        },
    )
