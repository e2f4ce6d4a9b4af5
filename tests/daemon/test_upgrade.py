"""An upgrade to a version with other tables, on one host and on three, and the way back, as docs/operations.md says.

The newer version is this one with one more step of the schema.
"""

import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest

from tests.daemon.hosts import Hosts
from tests.daemon.hosts import program as older
from tests.daemon.running import RunningDaemon, autoscaler, command, external, finished, running_daemon, write_config

pytestmark = pytest.mark.slow

_NEWER: Final = """
import runpy, socket
from sqlalchemy import text
from autoscaler.record import schema, versions
step = lambda connection: connection.execute(text("ALTER TABLE event ADD COLUMN extra TEXT"))
versions.MIGRATIONS = {**versions.MIGRATIONS, schema.VERSION: step}
schema.VERSION += 1
socket.gethostname = lambda: %r
runpy.run_module("autoscaler", run_name="__main__")
"""
_PEAK, _LOW = 5, 1
_LEASE: Final = {"leaseDuration": "30s", "renewDeadline": "25s", "retryPeriod": "300ms"}
"""A copy of the state still has the lease of its daemon until it ends by itself."""
_WINDOW: Final = {"scaleDown": {"stabilizationWindowSeconds": 600}}


def newer(host: str = "vm-1") -> Sequence[str]:
    """Return the program of a daemon of the newer version on a host of this name."""
    return ("-c", _NEWER % host)


def of_load(load: int) -> dict[str, Any]:
    """Return what an autoscaler has with this load."""
    return {"metrics": [external(f"vector({load})")], "behavior": _WINDOW}


def assert_the_window_holds(daemon: RunningDaemon) -> None:
    """The load is low, and what was recommended at the peak is remembered."""
    wait = partial(daemon.wait_for, "decision", autoscaler="web", level="info")
    assert {wait(count)["desired"] for count in (1, 2, 3)} == {_PEAK}


def test_one_host_is_upgraded_and_goes_back(folder: Path, prometheus: str) -> None:
    def configured(load: int) -> Path:
        web = autoscaler("web", "", adapter="fleet", **of_load(load))
        return write_config(folder, prometheus, [web], {"fleet": {"type": "memory", "groups": {"web": {}}}})

    def run(program: Sequence[str], *words: str) -> None:
        done = finished([*command(config)[:1], *program, *words, f"--config.file={config}"], folder / "state")
        assert done.returncode == 0, done.stderr

    config, saved = configured(_PEAK), str(folder / "saved.db")
    with running_daemon(config, program=older("vm-1")) as daemon:
        daemon.wait_for("decision", autoscaler="web", written=_PEAK)
        run(older("vm-1"), "backup", saved)
        configured(_LOW)
        assert daemon.stop() == 0
    with running_daemon(config, program=newer()) as daemon:
        assert_the_window_holds(daemon)
        run(newer(), "explain", "web", "--at", "0s")
        assert daemon.stop() == 0
    refused = finished(command(config, program=older("vm-1")), folder / "state")
    assert refused.returncode == 1
    assert "was written by a newer version" in refused.stderr
    run(older("vm-1"), "restore", "--replace", saved)
    with running_daemon(config, program=older("vm-1")) as daemon:
        assert_the_window_holds(daemon)
        assert daemon.stop() == 0


def test_three_hosts_are_upgraded_one_after_another_and_go_back(hosts: Hosts) -> None:
    """No host waits for another one, and each autoscaler keeps its window from version to version."""
    first, *standbys = [hosts.start(name, _LEASE, names=["web"], **of_load(_PEAK)) for name in ("one", "two", "three")]
    first.daemon.wait_for("decision", autoscaler="web", written=_PEAK)
    dump = dumped(hosts.url)
    upgraded = []
    for each in standbys:
        assert each.daemon.stop() == 0
        upgraded.append(hosts.start(each.name, _LEASE, names=["web"], program=newer, **of_load(_LOW)))
    for each in upgraded:
        assert each.daemon.get("/-/healthy").status_code == 200
        assert "one, pid" in each.run("status")
        refused = each.command("get")
        assert refused.returncode == 1
        assert "autoscaler resign" in refused.stderr
    first.run("resign")
    hosts.wait(lambda: hosts.leader() in ("two", "three"), "an upgraded daemon leads")
    (leader,) = [each for each in upgraded if each.name == hosts.leader()]
    assert_the_window_holds(leader.daemon)
    assert "web" in upgraded[0].run("get")
    assert "web" in upgraded[1].run("get")
    first.daemon.wait_for("lease_not_renewed")
    assert first.daemon.stop() == 0
    last = hosts.start("one", _LEASE, names=["web"], program=newer, **of_load(_LOW))
    assert "web" in last.run("get")

    for each in (last, *upgraded):
        assert each.daemon.stop() == 0
    restore(hosts.url, dump)
    words = [*command(first.config)[:1], "-m", "autoscaler", "restore", f"--config.file={first.config}"]
    hosts.wait(lambda: finished(words, hosts.folder).returncode == 0, "the copied lease ends")
    back = [hosts.start(name, _LEASE, names=["web"], **of_load(_LOW)) for name in ("one", "two", "three")]
    assert_the_window_holds(back[0].daemon)


def dumped(url: str) -> str:
    """Return pg_dump's copy of the state, which is one schema here: other tests drop theirs while the copy is made."""
    words = ["pg_dump", f"--schema={schema_of(url)}", url]
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def restore(url: str, dump: str) -> None:
    """Put the copy in the place of the state."""
    schema = schema_of(url)
    of_all = url.replace(f"{schema}@", "postgres@")
    with psycopg.connect(of_all, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA {schema} CASCADE".encode())
    words = ["psql", "--quiet", "--set=ON_ERROR_STOP=1", of_all]
    done = subprocess.run(words, input=dump, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def schema_of(url: str) -> str:
    """Return the schema of a state, which has its user's name."""
    return str(psycopg.conninfo.conninfo_to_dict(url)["user"])
