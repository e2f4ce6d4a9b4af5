"""Several daemons share a PostgreSQL state: one leads, and the others stand by and answer from the state."""

import pytest
import requests

from autoscaler.version import VERSION
from tests.daemon.hosts import NAMES, SLOW, Host, Hosts

pytestmark = pytest.mark.slow


def test_the_leader_serves_everything_and_a_standby_shows_it(hosts: Hosts) -> None:
    """Operators can use any daemon: its page, its API and every command answer from the state."""
    hosts.env = {"WATCHDOG_USEC": "2000000"}
    one, two = hosts.start("one"), hosts.start("two")
    two.daemon.wait_for("standing_by")
    one.wait_for_decisions(NAMES)
    one.wait_for_decisions(NAMES)
    assert two.decided() == set()
    assert [hosts.size(name) for name in NAMES] == [3] * len(NAMES)
    two.daemon.wait_until_told(f"STATUS=stands by, with 3 autoscalers; the leader: one, pid {one.daemon.process.pid}")
    one.daemon.wait_until_told("STATUS=leads: 3 autoscalers on 1 connection")
    two.daemon.wait_until_told("WATCHDOG=1", count=3)
    shown = two.get("autoscalers")
    assert shown["led"] is True
    assert {each["name"]: each["current"] for each in shown["autoscalers"]} == dict.fromkeys(NAMES, 3)
    assert two.get(f"autoscalers/{NAMES[0]}")["summary"]["name"] == NAMES[0]
    assert requests.get(f"{two.url}/-/ready", timeout=60).status_code == 200
    assert requests.get(f"{two.url}/-/healthy", timeout=60).status_code == 200
    for path in ("/", f"/autoscalers/{NAMES[0]}", "/status"):
        page = two.daemon.get(path)
        assert page.status_code == 200
    for words in (("get",), ("describe", NAMES[0]), ("explain", NAMES[0]), ("events",)):
        assert NAMES[0] in two.run(*words)
    for host in (one, two):
        assert_says_who_leads(host, one, two)
    assert_a_sum_counts_each_autoscaler_once(one, two)
    assert two.daemon.stop() == 0
    assert one.get("status/hosts")["standbys"] == []


def assert_says_who_leads(host: Host, one: Host, two: Host) -> None:
    """In the same words, whichever is asked."""
    found = host.get("status/hosts")
    assert found["shared"]
    assert found["leader"]["name"] == f"one, pid {one.daemon.process.pid}"
    assert (found["leader"]["host"], found["leader"]["version"]) == ("one", VERSION)
    assert found["standbys"] == [f"two, pid {two.daemon.process.pid}"]
    lines = [line.split() for line in host.run("status").splitlines()]
    (start,) = [number for number, line in enumerate(lines) if line[:1] == ["DAEMON"]]
    assert [(line[0], line[3]) for line in lines[start + 1 : start + 3]] == [("one,", "leads"), ("two,", "stands")]


def assert_a_sum_counts_each_autoscaler_once(one: Host, two: Host) -> None:
    """A standby's metrics show its process, and that it does not lead; nothing that the leader shows, too."""
    assert one.series("autoscaler_") == set(NAMES)
    assert two.series("autoscaler_") == set()
    first, second = one.metrics(), two.metrics()
    assert (first["autoscaler_leader"], second["autoscaler_leader"]) == (1, 0)
    assert first["autoscaler_lease_seconds_left"] > 0
    assert second["autoscaler_lease_seconds_left"] == 0
    assert first["autoscaler_autoscalers"] + second.get("autoscaler_autoscalers", 0) == len(NAMES)
    assert "autoscaler_state_size_bytes" in first
    assert "autoscaler_state_size_bytes" not in second
    assert second["process_resident_memory_bytes"] > 0
    assert second["autoscaler_state_up"] == 1
    status = two.get("status/daemon")
    assert (status["level"], status["problems"]) == ("normal", [])


def test_a_pause_that_is_written_at_a_standby_is_followed_by_the_leader(hosts: Hosts) -> None:
    """It goes through the state, so any daemon takes it."""
    name = NAMES[0]
    one, two = hosts.start("one", names=[name]), hosts.start("two", names=[name])
    one.wait_for_decisions([name])
    assert f"{name}: scaling is paused for 1h" in two.run("pause", name, "--for", "1h")
    one.daemon.until(lambda: one.get(f"autoscalers/{name}")["summary"]["state"] == "paused", "the leader is paused")
    hosts.config("one", SLOW, names=[name], minReplicas=4)
    one.daemon.reload()
    one.wait_for_decisions([name])
    one.wait_for_decisions([name])
    assert hosts.size(name) == 3, "a paused autoscaler is not scaled"
    assert "in force" in two.run("override", name, "--max", "5")
    two.run("resume", name, "--pause")
    hosts.wait(lambda: hosts.size(name) == 4, "the leader goes on")
    two.run("resume", name)


def test_a_configuration_that_differs_is_seen_at_the_standby(hosts: Hosts) -> None:
    """A takeover changes sizes: a standby leads with what it has loaded. It is a status, a metric, and a note."""
    one, two = hosts.start("one"), hosts.start("two")
    two.daemon.until(lambda: two.get("status/hosts")["leader"]["differs"] is False, "the same configuration")
    assert two.metrics()["autoscaler_configuration_differs"] == 0
    hosts.config("two", SLOW, maxReplicas=7)
    two.daemon.reload()
    two.daemon.until(lambda: two.metrics()["autoscaler_configuration_differs"] == 1, "it differs")
    assert one.metrics()["autoscaler_configuration_differs"] == 0
    assert two.get("status/hosts")["leader"]["differs"] is True
    assert "the leader has loaded another configuration" in two.run("status")
    assert one.get("status/hosts")["leader"]["differs"] is False
    hosts.config("one", SLOW, maxReplicas=7)
    one.daemon.reload()
    two.daemon.until(lambda: two.metrics()["autoscaler_configuration_differs"] == 0, "it does not differ")
    assert two.get("status/hosts")["leader"]["differs"] is False
    hosts.config("two", SLOW, minReplicas=4)
    two.daemon.reload(2)
    one.wait_for_decisions(NAMES)
    assert [hosts.size(name) for name in NAMES] == [3] * len(NAMES)
    assert one.daemon.stop() == 0
    hosts.wait(lambda: [hosts.size(name) for name in NAMES] == [4] * len(NAMES), "the successor's sizes")


def test_a_file_with_dry_runs_leads_as_any_other(hosts: Hosts) -> None:
    """Only `run --dry-run` is alone on its state."""
    one, two = hosts.start("one", dryRun=True), hosts.start("two", dryRun=True)
    hosts.wait_until_led_by("one")
    one.wait_for_decisions(NAMES)
    two.daemon.wait_for("standing_by")
    assert one.daemon.stop() == 0
    two.wait_for_decisions(NAMES)
    assert [hosts.size(name) for name in NAMES] == [1] * len(NAMES)
