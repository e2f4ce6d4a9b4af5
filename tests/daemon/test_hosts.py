"""Several daemons share a PostgreSQL state. Each serves a part, and others take over the shards of one that ends."""

from collections import Counter
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
import requests
from sqlalchemy import make_url

from tests.daemon.hanging import ThirdParty
from tests.daemon.hosts import NAMES, QUICK, SHARDS, SLOW, Host, Hosts, program
from tests.daemon.running import command, finished, mark, workers
from tests.servers.tcp_proxy import running_tcp_proxy

pytestmark = pytest.mark.slow


def test_each_daemon_serves_half_and_shows_all(hosts: Hosts) -> None:
    """Operators can use any daemon. A sum of /metrics over all daemons counts each autoscaler once."""
    one, two = hosts.start("one"), hosts.start("two")
    hosts.wait_until_held({"one": 6, "two": 6})
    for host in (one, two):
        host.daemon.until(
            lambda host=host: (
                Counter((by or "").split(",")[0] for by in host.held_by().values()) == {"one": 6, "two": 6}
            ),  # type: ignore[misc]
            "heldBy of all",
        )
    assert one.held_by() == two.held_by()
    mine = {name for name, by in one.held_by().items() if (by or "").startswith("one,")}
    one.wait_for_decisions(mine)
    two.wait_for_decisions(set(NAMES) - mine)
    since = len(one.daemon.log)
    one.wait_for_decisions(mine)
    assert one.decided(since) == mine
    assert one.series("autoscaler_current_replicas") == mine
    assert two.series("autoscaler_current_replicas") == set(NAMES) - mine
    assert one.metrics()["autoscaler_autoscalers"] + two.metrics()["autoscaler_autoscalers"] == len(NAMES)
    known = {
        name: one.metrics()[name] for name in one.metrics() if name.startswith(("autoscaler_lease_h", "autoscaler_me"))
    }
    assert known == {"autoscaler_lease_held": 1, "autoscaler_members": 2}
    assert one.metrics()["autoscaler_shards_held{fleet}"] == 6
    assert one.metrics()["autoscaler_unheld"] == 0
    table = two.run("get", "-o", "wide")
    assert "HOST" in table
    assert table.count("one, pid") == table.count("two, pid") == 6
    listed = two.run("status")
    assert [line.split()[0] for line in listed.splitlines()[-3:]] == ["DAEMON", "one,", "two,"]
    assert listed.count("fleet 6") == listed.count("the latest") == 2


def test_a_daemon_without_the_database_scales_nothing_reports_it_and_recovers(hosts: Hosts) -> None:
    """Another daemon may serve its targets by then. The database does not answer and does not close connections."""
    server = make_url(hosts.url)
    assert server.port is not None
    with running_tcp_proxy(server.port) as proxy:
        url = server.set(port=proxy.port).render_as_string(hide_password=False)
        one, two = hosts.start("one", QUICK, url=url), hosts.start("two")
        hosts.wait_until_held({"one": 6, "two": 6})
        proxy.cut(silent=True)
        one.daemon.wait_for("lease_lost")
        hosts.wait_until_held({"two": 12})
        since = len(one.daemon.log)
        two.wait_for_decisions(NAMES)
        assert one.decided(since) == set()
        one.daemon.wait_until_told("STATUS=the lease is lost")
        assert one.metrics()["autoscaler_lease_held"] == 0
        status = one.get("status/daemon")
        assert (status["leaseLost"], status["level"]) == (True, "error")
        assert one.metrics()["autoscaler_lease_lost_total"] >= 1
        assert requests.get(f"{one.url}/-/healthy", timeout=60).status_code == 200
        proxy.mend()
        one.daemon.wait_for("lease_gained")
        hosts.wait_until_held({"one": 6, "two": 6})
        mine = {name for name, by in two.held_by().items() if (by or "").startswith("one,")}
        one.wait_for_decisions(mine)
        one.daemon.until(lambda: one.metrics()["autoscaler_state_up"] == 1, "the state answers")
        assert one.daemon.stop() == 0
        assert two.daemon.stop() == 0


def test_a_shard_with_a_hanging_call_is_given_back_at_the_end_of_the_lease(hosts: Hosts, folder: Path) -> None:
    """The request may still be on its way. A daemon that took over would write beside it."""
    third = ThirdParty(folder)
    hosts.env = third.env
    hangs = {"fleet": third.section("scale", target="s0", shards=SHARDS)["third"]}
    one = hosts.start("one", adapters=hangs)
    one.daemon.until(lambda: third.notes("hangs") != [], "a write that hangs")
    assert one.daemon.stop() == 0
    assert len(hosts.holders()) == 1
    two = hosts.start("two", adapters={"fleet": third.section(shards=SHARDS)["third"]})
    hosts.wait_until_held({"one": 1, "two": 11})
    two.wait_for_decisions(set(NAMES) - {"s0"})
    assert two.decided() == set(NAMES) - {"s0"}


def test_a_daemon_before_its_reload_keeps_its_autoscalers_and_is_reported(hosts: Hosts) -> None:
    """During a rollout each daemon serves its own configuration. Autoscalers without a daemon are reported."""
    one, two = hosts.start("one"), hosts.start("two")
    hosts.wait_until_held({"one": 6, "two": 6})
    both = [name for name in NAMES if (one.held_by()[name] or "").startswith("one,")]
    hosts.config("two", SLOW, maxReplicas=7)
    two.daemon.reload()
    two.daemon.until(lambda: bool(two.get("status/hosts")["hosts"][0]["differs"]), "one differs")
    first, second = one.get("status/hosts")["hosts"]
    assert (first["host"], second["host"]) == ("one", "two")
    assert first["differs"] == sorted(NAMES)
    assert second["differs"] == []
    assert f"differs: {', '.join(sorted(NAMES)[:2])}" in one.run("status")
    one.wait_for_decisions(both)
    hosts.config("one", SLOW, maxReplicas=7)
    one.daemon.reload()
    one.daemon.until(lambda: not any(each["differs"] for each in one.get("status/hosts")["hosts"]), "none differs")


def _serves(asked: Host, name: str, autoscaler: str) -> bool:
    """Return whether this daemon names that one as the server of the autoscaler."""
    return (asked.held_by().get(autoscaler) or "").startswith(f"{name},")


def test_an_autoscaler_of_only_one_daemon_is_served_by_that_daemon(hosts: Hosts) -> None:
    """The holder of the shard has an autoscaler of another name and does not serve it."""
    one, two = hosts.start("one", names=["s0"]), hosts.start("two", names=["s0"])
    one.wait_for_decisions(["s0"])
    config = hosts.config("two", SLOW, names=["s0"])
    config.write_text(config.read_text().replace("name: s0", "name: renamed", 1))
    two.daemon.reload()
    for host in (one, two):
        hosts.wait(partial(_serves, host, "one", "s0"), "one serves s0")
    assert two.held_by()["renamed"] is None
    assert two.get("status/hosts")["unheld"] == ["renamed"]


def test_an_autoscaler_without_a_daemon_is_reported(hosts: Hosts) -> None:
    """Pools of a host without a running daemon wait for it. Operators must know this."""
    pool = {"fleet": {"type": "process", "host": "two", "pools": {"s0": {"command": ["sleep", "60"]}}}}
    one = hosts.start("one", names=["s0"], adapters=pool)
    one.daemon.until(lambda: one.metrics()["autoscaler_unheld"] == 1, "one is unheld")
    assert one.get("status/hosts")["unheld"] == ["s0"]
    assert "no daemon serves s0" in one.run("status")
    (shown,) = one.get("autoscalers")["autoscalers"]
    assert (shown["unheld"], shown["heldBy"], shown["level"]) == (True, None, "warning")
    two = hosts.start("two", names=["s0"], adapters=pool)
    two.wait_for_decisions(["s0"])
    one.daemon.until(lambda: one.metrics()["autoscaler_unheld"] == 0, "none is unheld")
    assert one.decided() == set()


def test_a_second_daemon_on_a_machine_does_not_take_the_pools_of_the_first(hosts: Hosts, folder: Path) -> None:
    """It could not read their workers. It waits, and continues with the workers when the first daemon ends."""
    pools = {name: {"command": ["sleep", "3600"], "env": mark(folder)} for name in NAMES}
    local = {"fleet": {"type": "process", "host": "one", "pools": pools}}
    first = hosts.start("one", QUICK, adapters=local)
    first.wait_for_decisions(NAMES)
    first.daemon.until(lambda: len(workers(folder)) == 3 * len(NAMES), "the workers of all pools")
    before = workers(folder)
    second = hosts.start("one", adapters=local)
    hosts.wait(lambda: len(second.get("status/hosts")["hosts"]) == 2, "both are members")
    since = len(first.daemon.log)
    first.wait_for_decisions(NAMES)
    first.wait_for_decisions(NAMES)
    assert second.decided() == set()
    assert not [line for line in first.daemon.log[since:] if line["level"] == "error"]
    first.daemon.process.kill()
    second.wait_for_decisions(NAMES)
    assert workers(folder) == before


def test_a_single_cycle_beside_running_daemons_is_refused(hosts: Hosts) -> None:
    """It would serve only a part, and take shards from the daemons."""
    hosts.start("one")
    config = hosts.config("two", QUICK)
    done = finished(command(config, "--once", program=program("two")), config.parent)
    assert done.returncode == 1
    assert "in use by 1 other daemon" in done.stderr


def test_a_connection_of_another_machine_is_refused_by_a_single_daemon(folder: Path, prometheus: str) -> None:
    """With SQLite no other daemon could serve it."""
    hosts = Hosts("sqlite:///state.db", prometheus, folder, ExitStack())
    pool = {"fleet": {"type": "process", "host": "two", "pools": {"s0": {"command": ["sleep", "60"]}}}}
    config = hosts.config("one", {}, ["s0"], adapters=pool)
    config.write_text(config.read_text().replace("ha: {}\n", ""))
    done = finished(command(config, program=program("one")), config.parent)
    assert done.returncode == 2
    assert "adapters.fleet.host: its targets are on two, and this is one" in done.stderr
