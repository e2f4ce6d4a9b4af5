"""A single cycle and a dry run are alone on a state that other daemons could share."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import make_url

from tests.daemon.hanging import ThirdParty
from tests.daemon.hosts import NAMES, QUICK, SLOW, Hosts
from tests.servers.tcp_proxy import running_tcp_proxy
from tests.waiting import until

pytestmark = pytest.mark.slow

ALONE = pytest.mark.parametrize("option", ["--once", "--dry-run"])


@ALONE
def test_a_single_cycle_or_dry_run_is_refused_while_another_daemon_leads(hosts: Hosts, option: str) -> None:
    """It would take the lease, and the other daemon would scale nothing meanwhile."""
    one = hosts.start("one")
    done = hosts.attempt("two", option)
    assert done.returncode == 1
    assert f"the state is in use by one, pid {one.daemon.process.pid}; stop it, or give this one a state" in done.stderr
    assert "Traceback" not in done.stderr
    assert hosts.leader() == "one"
    one.wait_for_decisions(NAMES)
    assert one.daemon.events("lease_lost") == []


@ALONE
def test_a_single_cycle_or_dry_run_is_refused_while_another_daemon_stands_by(hosts: Hosts, option: str) -> None:
    """That daemon may be about to lead."""
    one = hosts.start("one")
    one.run("resign")
    hosts.wait_until_led_by(None)
    done = hosts.attempt("two", option)
    assert done.returncode == 1
    assert f"the state is in use by one, pid {one.daemon.process.pid}" in done.stderr
    assert hosts.leader() is None


def test_a_single_cycle_on_a_free_state_holds_the_lease_and_frees_it(hosts: Hosts) -> None:
    """Scheduled single cycles follow each other without a wait, and each goes on from the one before."""
    for written in ([3, 3, 3], [None] * 3):
        done = hosts.attempt("one", "--once")
        assert done.returncode == 0, done.stderr
        lines = [json.loads(line) for line in done.stderr.splitlines()]
        assert [line["written"] for line in lines if line["event"] == "decision"] == written
        assert hosts.leader() is None


def test_a_single_cycle_leads_while_it_runs(hosts: Hosts, folder: Path) -> None:
    """A daemon that is started meanwhile stands by."""
    third = ThirdParty(folder)
    hosts.env = third.env
    fleet = {"fleet": third.section("observe", times=1)["third"]}
    with ThreadPoolExecutor(1) as thread:
        once = thread.submit(hosts.attempt, "one", "--once", names=NAMES[:1], adapters=fleet, syncPeriod="30s")
        until(lambda: third.notes("hangs", 1) != [], "a cycle under way")
        assert hosts.leader() == "one"
        third.release(1)
        assert once.result().returncode == 0


def test_a_single_cycle_waits_for_the_lease_of_a_killed_daemon(hosts: Hosts) -> None:
    """No longer than the lease lasts."""
    one = hosts.start("one", QUICK)
    one.daemon.process.kill()
    one.daemon.process.wait()
    assert hosts.attempt("two", "--once").returncode == 0


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
