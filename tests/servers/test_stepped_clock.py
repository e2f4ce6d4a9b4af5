"""A daemon's clocks that a test sets, and a Prometheus that uses them."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.servers import same_clock
from tests.servers.stepped_clock import Skew, SteppedClock

HOUR = 3600.0
TICKS = """
from tests.servers.stepped_clock import install

install()

from autoscaler.clock import SystemClock
from autoscaler.model import ShardName
from autoscaler.schedule.shard import Shard
from autoscaler.schedule.shards import Shards
from autoscaler.target.contract import RecordingLogger
from tests.schedule.ports import FakePorts, scaler
from tests.waiting import until

clock, log, ports = SystemClock(), RecordingLogger(), FakePorts(lambda: None)
shards = Shards(clock, log)
shard = Shard(ShardName("a"), clock, log, lambda _: None)
shard.assign(ports.work([scaler("web", 3600)]))
shards.add(shard)
shards.start()
until(lambda: ports.calls.count("record") >= 3, "three cycles")
shards.stop()
"""
"""A program whose autoscaler has a period of an hour. It ends after three cycles."""


def test_setting_the_wall_clock_moves_no_other_clock() -> None:
    """clock_gettime(2): only CLOCK_REALTIME can be set."""
    wall, boot = Skew(ahead=HOUR).looks()
    assert wall - time.time() == pytest.approx(HOUR, abs=5)
    assert boot == pytest.approx(time.clock_gettime(time.CLOCK_BOOTTIME), abs=5)


def test_two_clocks_include_the_machines_sleep() -> None:
    skew = Skew(slept=HOUR)
    wall, boot = skew.looks()
    assert wall - time.time() == pytest.approx(HOUR, abs=5)
    assert boot - time.clock_gettime(time.CLOCK_BOOTTIME) == pytest.approx(HOUR, abs=5)
    assert skew.monotonic() == pytest.approx(time.monotonic(), abs=5)


def test_fast_clocks_run_at_the_same_speed() -> None:
    """A day that began an hour ago, by the machine's clock, is over by all three clocks."""
    now = time.clock_gettime(time.CLOCK_BOOTTIME)
    skew = Skew(speed=24, since=now - HOUR)
    wall, boot = skew.looks()
    for gained in (wall - time.time(), boot - now, skew.monotonic() - time.monotonic()):
        assert gained == pytest.approx(23 * HOUR, abs=24 * 5)


@pytest.mark.slow  # a program of its own
def test_shards_tick_by_fast_clocks(tmp_path: Path) -> None:
    """Otherwise a fast day has a cycle in each real minute, and its faults pass between two of them."""
    environment = {**os.environ, **SteppedClock(tmp_path, speed=10_000).env}
    subprocess.run([sys.executable, "-c", TICKS], check=True, env=environment, timeout=300)


def test_a_query_uses_the_servers_time_and_its_answer_the_daemons(tmp_path: Path) -> None:
    clock = SteppedClock(tmp_path)
    clock.set(HOUR)
    at = round(clock.now(), 3)
    path, body = same_clock.to_server(clock, f"/api/v1/query?query=up%7Bjob%3D%22a%22%7D&time={at}", b"")
    assert body == b""
    assert "query=up%7Bjob%3D%22a%22%7D" in path
    sent = same_clock.asked_at(path, b"")
    assert sent == pytest.approx(at - HOUR, abs=5)
    result = [{"metric": {}, "value": [sent, "7"]}]
    answer = json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}}).encode()
    translated = json.loads(same_clock.to_daemon(at, answer))
    assert translated["data"]["result"] == [{"metric": {}, "value": [at, "7"]}]


def test_a_query_by_post_is_translated_too(tmp_path: Path) -> None:
    """Long queries use POST."""
    clock = SteppedClock(tmp_path)
    clock.set(-HOUR)
    at = round(clock.now(), 3)
    path, body = same_clock.to_server(clock, "/api/v1/query", f"time={at}&query=up".encode())
    assert path == "/api/v1/query"
    assert same_clock.asked_at(path, body) == pytest.approx(at + HOUR, abs=5)
