"""Configurations of daemons name one target differently for a while. One daemon scales it."""

import signal
from collections.abc import Sequence

import pytest

from tests.daemon.hosts import NAMES, SHARDS, SLOW, Host, Hosts
from tests.daemon.running import autoscaler, write_config


def _rename(hosts: Hosts, host: Host, names: Sequence[str]) -> None:
    """Rename the connection to `barn` in this host's configuration, with autoscalers of these names."""
    section = {"type": "memory", "shards": SHARDS, "groups": {name: {} for name in names}}
    scalers = [autoscaler(name, "vector(3)", adapter="barn") for name in names]
    folder = host.config.parent
    write_config(folder, hosts.prometheus, scalers, {"barn": section}, state={"url": hosts.url}, ha=SLOW)
    host.daemon.send(signal.SIGHUP)
    host.daemon.wait_for("reloaded")


@pytest.mark.slow
def test_a_connection_can_be_renamed_on_one_host_after_the_other(hosts: Hosts) -> None:
    """Meanwhile one daemon serves each autoscaler by its own configuration. The other daemon names it."""
    one, two = hosts.start("one", SLOW), hosts.start("two", SLOW)
    hosts.wait_until_held({"one": 6, "two": 6})
    _rename(hosts, two, [*NAMES, "new"])
    hosts.wait_until_held({"one": 12, "two": 12})
    of_one, of_two = _each_is_scaled_by_its_holder(one, two)
    assert "new" in of_two
    for host, names in ((one, of_two - {"new"}), (two, of_one)):
        for name in names:
            told = f"of {one.held_by()[name]} serves this name ({name}); the next cycle tries again"
            host.daemon.until(
                lambda host=host, told=told: any(
                    line["error"].endswith(told) for line in host.daemon.events("autoscaler_failed")
                ),  # type: ignore[misc]  # a lambda's defaults
                told,
            )
    assert not of_one & of_two
    _rename(hosts, one, [*NAMES, "new"])
    hosts.wait_until_held({"one": 6, "two": 6})
    _each_is_scaled_by_its_holder(one, two)


def _each_is_scaled_by_its_holder(one: Host, two: Host) -> tuple[set[str], set[str]]:
    """Wait until all are served. Returns the autoscalers of each host."""
    two.daemon.until(lambda: {*two.held_by()} == {*NAMES, "new"} and all(two.held_by().values()), "a holder of each")
    of_one, of_two = ({name for name, by in two.held_by().items() if f"{by}".startswith(at)} for at in ("one,", "two,"))
    since = len(one.daemon.log), len(two.daemon.log)
    one.wait_for_decisions(of_one)
    two.wait_for_decisions(of_two)
    assert (one.decided(since[0]), two.decided(since[1])) == (of_one, of_two)
    return of_one, of_two
