"""A standby takes over from a leader that resigns, is killed, or loses the database, and goes on."""

from pathlib import Path
from typing import Any, Final

import pytest
import requests
from sqlalchemy import make_url

from tests.daemon.hanging import ThirdParty
from tests.daemon.hosts import NAMES, QUICK, Host, Hosts
from tests.servers.tcp_proxy import running_tcp_proxy

pytestmark = pytest.mark.slow

WEB: Final = NAMES[0]
ONE_STEP: Final[dict[str, Any]] = {
    "names": [WEB],
    "behavior": {"scaleUp": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 600}]}},
}
"""An autoscaler that may grow by one in ten minutes, and wants two more."""


def assert_goes_on(hosts: Hosts, two: Host) -> None:
    """Assert that this daemon leads, and knows that the policy's only step has been used."""
    line = two.daemon.wait_for("decision", autoscaler=WEB, level="info")
    assert (line["current"], line["desired"], line["reason"]) == (2, 2, "ScaleUpLimit")
    two.wait_for_decisions([WEB])
    assert hosts.size(WEB) == 2
    assert hosts.leader() == two.name


def test_a_daemon_that_resigns_hands_over_at_once_and_stands_by(hosts: Hosts) -> None:
    """It does not compete for the lease at once: the operator has something in mind."""
    one, two = hosts.start("one", **ONE_STEP), hosts.start("two", **ONE_STEP)
    one.daemon.wait_for("decision", autoscaler=WEB, written=2)
    assert one.run("resign") == "resigned\n"
    assert_goes_on(hosts, two)
    one.daemon.wait_for("standing_by", leader=f"two, pid {two.daemon.process.pid}")
    since = len(one.daemon.log)
    two.wait_for_decisions([WEB])
    assert one.decided(since) == set()
    assert one.series("autoscaler_") == set()
    assert one.metrics()["autoscaler_leader"] == 0
    assert one.metrics()["autoscaler_lease_lost_total"] == 0
    assert one.daemon.events("lease_lost") == []
    status = one.get("status/daemon")
    assert (status["level"], status["problems"], status["leaseLost"]) == ("normal", [], False)
    refused = one.command("resign")
    assert refused.returncode == 1
    assert f"this daemon stands by; the leader is two, pid {two.daemon.process.pid}" in refused.stderr
    assert two.run("resign") == "resigned\n"
    hosts.wait_until_led_by(None)
    assert two.get("autoscalers")["led"] is False
    assert "no daemon leads" in two.run("get")


def hanging(third: ThirdParty, where: str = "scale", **more: Any) -> dict[str, Any]:
    return {"fleet": third.section(where, kept=True, **more)["third"]}


def test_a_daemon_whose_call_hangs_leaves_its_lease_to_its_end(hosts: Hosts, folder: Path) -> None:
    """The request may still be on its way. A daemon that took over at once would write beside it."""
    third = ThirdParty(folder)
    hosts.env = third.env
    one = hosts.start("one", adapters=hanging(third, target=WEB))
    two = hosts.start("two", adapters=hanging(third, ""))
    one.daemon.until(lambda: third.notes("hangs") != [], "a write under way")
    one.daemon.wait_for("shard_hung")
    refused = one.daemon.post("/-/resign")
    assert refused.status_code == 500
    assert "a call hangs, so the lease was not freed" in refused.text
    assert one.daemon.stop() == 0
    assert hosts.leader() == "one"
    since = len(two.daemon.events("standing_by"))
    assert since == 1
    assert two.decided() == set()


def test_a_leader_without_the_database_scales_nothing_reports_it_and_recovers(hosts: Hosts) -> None:
    """Another daemon leads by then. The database does not answer and does not close connections."""
    server = make_url(hosts.url)
    assert server.port is not None
    with running_tcp_proxy(server.port) as proxy:
        url = server.set(port=proxy.port).render_as_string(hide_password=False)
        one, two = hosts.start("one", QUICK, url=url), hosts.start("two", QUICK)
        proxy.cut(silent=True)
        one.daemon.wait_for("lease_lost")
        hosts.wait_until_led_by("two")
        since = len(one.daemon.log)
        two.wait_for_decisions(NAMES)
        assert one.decided(since) == set()
        one.daemon.wait_until_told("STATUS=the lease is lost")
        assert one.metrics()["autoscaler_leader"] == 0
        status = one.get("status/daemon")
        assert (status["leaseLost"], status["level"]) == (True, "error")
        shown = one.command("status")
        assert (shown.returncode, "Lease:          lost; nothing is scaled" in shown.stdout) == (0, True), shown.stderr
        assert "the daemons that share the state are unknown" in shown.stderr
        assert one.metrics()["autoscaler_lease_lost_total"] >= 1
        assert requests.get(f"{one.url}/-/healthy", timeout=60).status_code == 200
        proxy.mend()
        one.daemon.wait_for("standing_by")
        one.daemon.until(lambda: one.metrics()["autoscaler_state_up"] == 1, "the state answers")
        assert one.get("status/daemon")["leaseLost"] is False
        assert two.daemon.stop() == 0
        one.wait_for_decisions(NAMES)
        assert one.daemon.stop() == 0
