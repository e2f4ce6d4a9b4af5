"""A single cycle and a dry run are alone on a state that other daemons could share."""

import json

import pytest
from sqlalchemy import make_url

from tests.daemon.hosts import NAMES, QUICK, SLOW, Hosts
from tests.servers.tcp_proxy import running_tcp_proxy

pytestmark = pytest.mark.slow


def test_a_single_cycle_or_dry_run_is_refused_while_another_daemon_leads(hosts: Hosts) -> None:
    """It would take the lease, and the other daemon would scale nothing meanwhile."""
    one = hosts.start("one")
    said = f"the state is in use by one, pid {one.daemon.process.pid}; stop it, or give this one a state"
    for option in ("--once", "--dry-run"):
        done = hosts.attempt("two", option)
        assert done.returncode == 1
        assert said in done.stderr
        assert "Traceback" not in done.stderr
        assert hosts.leader() == "one"
    one.wait_for_decisions(NAMES)
    assert one.daemon.events("lease_lost") == []


def test_a_single_cycle_on_a_free_state_holds_the_lease_and_frees_it(hosts: Hosts) -> None:
    """Scheduled single cycles follow each other without a wait, and each goes on from the one before."""
    for written in ([3, 3, 3], [None] * 3):
        done = hosts.attempt("one", "--once")
        assert done.returncode == 0, done.stderr
        lines = [json.loads(line) for line in done.stderr.splitlines()]
        assert [line["written"] for line in lines if line["event"] == "decision"] == written
        assert hosts.leader() is None


def test_a_dry_run_leads_while_it_runs_and_other_daemons_stand_by(hosts: Hosts) -> None:
    """Nothing is scaled meanwhile."""
    one = hosts.start("one", SLOW, "--dry-run")
    hosts.wait_until_led_by("one")
    two = hosts.start("two")
    two.daemon.wait_for("standing_by")
    one.wait_for_decisions(NAMES)
    assert [hosts.size(name) for name in NAMES] == [1] * len(NAMES)
    assert one.daemon.stop() == 0
    hosts.wait(lambda: [hosts.size(name) for name in NAMES] == [3] * len(NAMES), "the standby scales")


def test_a_dry_run_whose_lease_another_daemon_took_ends(hosts: Hosts) -> None:
    """It does not stand by. The database's silence alone does not end it."""
    server = make_url(hosts.url)
    assert server.port is not None
    with running_tcp_proxy(server.port) as proxy:
        url = server.set(port=proxy.port).render_as_string(hide_password=False)
        one = hosts.start("one", QUICK, "--dry-run", url=url)
        proxy.cut(silent=True)
        one.daemon.wait_for("lease_lost")
        two = hosts.start("two", QUICK)
        hosts.wait_until_led_by("two")
        assert one.daemon.alive
        proxy.mend()
        assert one.daemon.process.wait(60) == 1
        last = one.daemon.stderr.read_text()
        assert f"two, pid {two.daemon.process.pid} leads now, and a dry run does not stand by" in last
        two.wait_for_decisions(NAMES)
