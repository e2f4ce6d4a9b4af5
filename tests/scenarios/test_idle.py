"""Idleness on the virtual clock: `idleReplicas`, `cooldown` and `activation`."""

from typing import Any

import pytest

from tests.scenarios.building import Project, web

TARGET = {"type": "AverageValue", "averageValue": 10}


def idle(**body: Any) -> dict[str, Any]:
    """An autoscaler of a queue that is active above 5."""
    queue = {"metric": {"name": "queue"}, "query": {"expr": "q"}, "target": TARGET, "activation": 5}
    return web(metrics=[{"type": "External", "external": queue}], minReplicas=2, idleReplicas=0, cooldown="10m", **body)


def test_a_restart_and_a_clock_that_is_set_extend_no_cooldown(project: Project) -> None:
    """The last activity is known as an age, not as a time."""
    project.configure(idle())
    project.passes(
        {"always": "size >= 2", "to": "15m30s"},
        {"at": "15m45s", "size": 0},
        {"always": "size = 0", "from": "15m45s", "to": "30m"},
        subject={"values": {"queue": "40x5 5"}, "replicas": 4},
        events=[
            {"at": "7m", "restart": True, "for": "1m"},
            {"at": "10m", "clock": "+1h"},
            {"at": "20m", "restart": True, "for": "1m"},
        ],
    )


@pytest.mark.slow
def test_an_outage_neither_begins_nor_ends_idleness(project: Project) -> None:
    """Also where the daemon starts anew in the middle of it."""
    project.configure(idle())
    project.passes(
        {"always": "size = 4", "from": "15s", "to": "25m"},
        {"at": "41m", "size": 0},
        {"always": "size = 0", "from": "41m", "to": "60m"},
        subject={"values": {"queue": "40x5 0"}, "replicas": 4},
        events=[
            {"at": "4m30s", "outage": "prometheus.default", "for": "26m"},
            {"at": "10m", "restart": True, "for": "1m"},
            {"at": "45m", "outage": "prometheus.default", "for": "10m"},
        ],
    )
