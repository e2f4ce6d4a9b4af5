"""Notices of a real daemon."""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.hosts import NAMES, QUICK, Hosts
from tests.daemon.running import RunningDaemon, autoscaler, running_daemon, write_config
from tests.notify.receiver import Receiver, receiving

pytestmark = pytest.mark.slow


def notify(folder: Path, receiver: Receiver) -> dict[str, Any]:
    webhook = receiver.webhook(folder)
    return {"webhook": {"url": webhook.url, "secretFile": str(webhook.secret_file)}}


def configured(folder: Path, prometheus: str, receiver: Receiver, query: str = "vector(2)") -> Path:
    fleet = {"fleet": {"type": "memory", "groups": {"web": {}}}}
    scaler = autoscaler("web", query, adapter="fleet", maxReplicas=3, syncPeriod="4s")
    return write_config(folder, prometheus, [scaler], fleet, notify=notify(folder, receiver))


def until(daemon: RunningDaemon, true: Callable[[], bool], receiver: Receiver) -> None:
    daemon.until(true, f"notices; there are {receiver.types}")


def test_each_kind_of_notice_reaches_the_receiver(folder: Path, prometheus: str) -> None:
    """A busy machine has four seconds for a write: one whose answer is late is no rescale, and has no notice."""
    with receiving() as receiver, running_daemon(configured(folder, prometheus, receiver)) as daemon:
        until(daemon, lambda: receiver.types == ["scaled"], receiver)
        configured(folder, prometheus, receiver, "vector(9)")
        daemon.send(signal.SIGHUP)
        until(daemon, lambda: sorted(receiver.types[1:]) == ["atMaximum", "scaled"], receiver)
        configured(folder, prometheus, receiver, "nothing")
        daemon.send(signal.SIGHUP)
        until(daemon, lambda: receiver.types[3:] == ["metricFailing"], receiver)
        daemon.config.write_text("autoscalers: 1")
        daemon.send(signal.SIGHUP)
        until(daemon, lambda: receiver.types[4:] == ["reloadRefused"], receiver)
        daemon.until(lambda: 'autoscaler_notices_total{result="delivered"} 5.0' in daemon.metrics(), "the metric")
        assert receiver.forged == 0
        assert "t0ken" not in daemon.stderr.read_text()
        assert daemon.stop() == 0


def test_of_several_daemons_the_leader_sends_each_notice(hosts: Hosts) -> None:
    """Its successor sends those that waited when it was killed."""
    with receiving() as receiver:
        receiver.answers = [500] * 3
        told = notify(hosts.folder, receiver)
        one, other = (hosts.start(name, QUICK, notify=told) for name in ("vm1", "vm2"))
        hosts.wait(lambda: len(set(map(str, receiver.events))) >= 3, "the first notices")
        one.daemon.process.kill()
        names = set(NAMES)
        other.daemon.until(
            lambda: {each["subject"] for each in receiver.events} == names, f"notices of {sorted(names)}"
        )
        assert receiver.forged == 0
        ids = [each["id"] for each in receiver.events]
        assert len(ids) - len(set(ids)) <= 4, "the three that failed, and one that was under way when it was killed"
