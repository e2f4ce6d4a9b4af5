"""The kinds of faults. Each begins and ends with a leader and standbys on all other hosts."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from rehearse.hosts.host import Host, wait_until
from rehearse.hosts.moments import MOMENTS, Moment, strike
from rehearse.hosts.recorder import Write, now_micros
from rehearse.hosts.world import World

_SECOND: Final = 1_000_000
_LATE_LEASES: Final = (0.0, 0.5, 1.5, 2.5)
"""How long a request may be on its way."""
_LAGS: Final = 3
"""The number of different lags of a standby. The longest is a lease."""
_SUSPENDED_AT: Final = (Moment.INTENT, Moment.LOOK, Moment.REQUEST)
_STEPS: Final = (3600.0, -3600.0, 86_400.0, -90.0, 20.0)
"""Seconds by which a wall clock is wrong from a step on."""
_ENDED_AT: Final = (Moment.RANDOM, Moment.INTENT, Moment.REQUEST)
_HANGING_LEASES: Final = 2


class Takeover(NamedTuple):
    """The duration of a takeover, in seconds after the former leader's last renewal."""

    led: float
    """Until another daemon had the lease."""
    decided: float
    """Until the last autoscaler had a decision of its first cycle."""


Scenario: TypeAlias = Callable[[World, int], Takeover | None]
"""One run, with its number. None: the leader stayed."""


def kill(world: World, run: int) -> Takeover | None:
    """Kill the leader (-9), at random and at each placed moment in turn. Its machine may reboot."""
    leader = world.leader()
    at = _strike(world, leader, MOMENTS[run % len(MOMENTS)], leader.kill)
    took = _taken_over(world, leader, at)
    if world.chance.random() < 0.5:
        leader.boot(world.chance)
    leader.start()
    world.wait_until_whole()
    return took


def kill_unsent(world: World, run: int) -> Takeover | None:
    """Kill the leader (-9) before it requests a size from AWS: its saved values about this write are wrong."""
    leader = world.leader()

    def lose(write: Write) -> None:
        write.lost = True

    at = _strike(world, leader, Moment.REQUEST, leader.kill, lose, backends=("aws",))
    took = _taken_over(world, leader, at)
    leader.start()
    world.wait_until_whole()
    return took


def kill_successor(world: World, run: int) -> Takeover | None:
    """Kill the leader (-9), and then the one that takes over, before it knows that it leads."""
    leader = world.leader()
    first, other = world.chance.sample([host for host in world.hosts if host is not leader], 2)
    other.pause()  # so that the first one takes over
    leader.kill()
    at = _strike(world, first, Moment.TAKEOVER, first.kill)
    other.go_on()
    took = _taken_over(world, first, at)
    for host in (leader, first):
        host.start()
    world.wait_until_whole()
    return took


def pause(world: World, run: int) -> Takeover | None:
    """Stop the leader by SIGSTOP for three leases, then continue it: it must notice by itself that it is late."""
    return _stopped(world, MOMENTS[run % len(MOMENTS)], suspended=False)


def suspend(world: World, run: int) -> Takeover | None:
    """Suspend a machine for three leases in the middle of a write. Its CLOCK_MONOTONIC stands still meanwhile."""
    return _stopped(world, _SUSPENDED_AT[run % len(_SUSPENDED_AT)], suspended=True)


def cut(world: World, run: int) -> Takeover | None:
    """Cut the leader off from the database for two leases: in turn its connections are closed, or silent."""
    leader = world.leader()
    at = now_micros()
    leader.database.way.cut(silent=run % 2 == 1)
    took = _taken_over(world, leader, at)
    _wait_since(at, 2 * world.lease_seconds)
    leader.database.way.mend()
    world.wait_until_whole()
    return took


def terminate(world: World, run: int) -> Takeover | None:
    """End the leader by SIGTERM, also in the middle of a write. It frees the lease after its calls have ended."""
    leader = world.leader()
    at = _strike(world, leader, _ENDED_AT[run % len(_ENDED_AT)], leader.terminate)
    took = _taken_over(world, leader, at)
    leader.ended()
    leader.start()
    world.wait_until_whole()
    return took


def resign(world: World, run: int) -> Takeover | None:
    """Let the leader resign, also in the middle of a write."""
    leader = world.leader()
    at = _strike(world, leader, _ENDED_AT[run % len(_ENDED_AT)], leader.resign)
    took = _taken_over(world, leader, at)
    world.wait_until_whole()
    return took


def restart_each(world: World, run: int) -> Takeover | None:
    """Restart the daemons one after another, in any order, as for an upgrade."""
    at = now_micros()
    for host in world.chance.sample(list(world.hosts), len(world.hosts)):
        host.terminate()
        host.ended()
        host.start()
        world.wait_until_whole()
    wait_until(all_decided(world, now_micros()), "decisions of all after the restarts")
    leads = [each for each in world.audit.leads() if each.at > at]
    assert leads, "no daemon took over"
    return None


def restart_database(world: World, run: int) -> Takeover | None:
    """Restart the database, in turn in order and as after a crash."""
    world.server.restart("immediate" if run % 2 else "fast")
    at = now_micros()
    world.wait_until_whole()
    wait_until(all_decided(world, at), "decisions of all after the database came back")
    return None


def promote(world: World, run: int) -> Takeover | None:
    """Let the database fail, and promote a standby that lags before the lease is over, so no daemon takes over."""
    before = world.audit.leader()
    at = world.fail_over((run % _LAGS + 1) / _LAGS * world.lease_seconds)
    wait_until(all_decided(world, at), "decisions of all after the promotion")
    assert world.audit.leader() == before, "a promotion has made another daemon the leader"
    return None


def hang(world: World, run: int) -> Takeover | None:
    """Let AWS hang for two leases for the leader. It stays, and the groups of Nomad are served meanwhile."""
    leader = world.leader()
    before = world.audit.leader()
    with leader.recorders["aws"].hangs():
        at = now_micros()
        wait_until(all_decided(world, at, world.jobs), "decisions about the groups of Nomad")
        _wait_since(at, _HANGING_LEASES * world.lease_seconds)
    wait_until(all_decided(world, now_micros()), "decisions of all after AWS answered")
    assert world.audit.leader() == before, "a back end that hangs has made another daemon the leader"
    return None


def step(world: World, run: int) -> Takeover | None:
    """Set the wall clocks of all hosts, each by another step, then kill the leader."""
    for host in world.hosts:
        host.clock.set(world.chance.choice(_STEPS))
    wait_until(all_decided(world, now_micros()), "decisions of all after the steps")
    return kill(world, 0)


def fail_standby(world: World, run: int) -> Takeover | None:
    """Kill, stop or cut off a standby for two leases. The leader stays."""
    before = world.audit.leader()
    standby = world.chance.choice([host for host in world.hosts if host is not world.leader()])
    way = standby.database.way
    faults: Sequence[tuple[Callable[[], object], Callable[[], object]]] = (
        (standby.kill, standby.start),
        (standby.pause, standby.go_on),
        (way.cut, way.mend),
    )
    fault, mend = faults[run % len(faults)]
    at = now_micros()
    fault()
    _wait_since(at, 2 * world.lease_seconds)
    mend()
    world.wait_until_whole()
    wait_until(all_decided(world, now_micros()), "decisions of all")
    assert world.audit.leader() == before, "a standby that fails has made another daemon the leader"
    return None


PROMOTED: Final = "standby promoted"
STEPPED: Final = "clocks stepped, then kill -9"
SCENARIOS: Final[Mapping[str, Scenario]] = {
    "kill -9": kill,
    "kill -9 before AWS hears": kill_unsent,
    "kill -9, the successor, too": kill_successor,
    "SIGSTOP": pause,
    "machine suspended": suspend,
    "database cut off": cut,
    STEPPED: step,
    "SIGTERM": terminate,
    "resign": resign,
    "restarted one after another": restart_each,
    "standby fails": fail_standby,
    "AWS hangs": hang,
    "database restarted": restart_database,
    PROMOTED: promote,
}
STAY: Final = (
    "restarted one after another",
    "standby fails",
    "AWS hangs",
    "database restarted",
    PROMOTED,
)
"""Kinds of faults whose takeovers, if any, are not measured."""


def all_decided(world: World, after: int, names: Collection[str] | None = None) -> Callable[[], bool]:
    """Return a function: whether every one of these autoscalers has a decision after that time; None: every one."""

    def decided() -> bool:
        newest = world.audit.newest()
        return all(newest.get(name, 0) > after for name in (world.names if names is None else names))

    return decided


def _stopped(world: World, moment: Moment, *, suspended: bool) -> Takeover | None:
    leader = world.leader()
    at = _strike(world, leader, moment, leader.pause)
    took = _taken_over(world, leader, at)
    _wait_since(at, 3 * world.lease_seconds)
    leader.go_on(suspended=suspended)
    world.wait_until_whole()
    return took


def _strike(
    world: World,
    victim: Host,
    moment: Moment,
    fault: Callable[[], int],
    late: Callable[[Write], object] | None = None,
    backends: Collection[str] | None = None,
) -> int:
    """Cause the fault. Returns its time."""
    if moment is Moment.RANDOM:
        time.sleep(world.chance.uniform(0, 1))
    struck: list[int] = []
    seconds = world.chance.choice(_LATE_LEASES) * world.lease_seconds
    strike(victim, moment, lambda: struck.append(fault()), late or (lambda _: time.sleep(seconds)), backends)
    return struck[0]


def _taken_over(world: World, former: Host, at: int) -> Takeover:
    """Wait until another daemon leads and has decided about every autoscaler."""

    def taken() -> bool:
        last = world.audit.leads()[-1]
        return last.at > at and world.host_of(last.process) != former.number

    wait_until(taken, f"a takeover from host {former.number}")
    lead = next(each for each in world.audit.leads() if each.at > at)
    wait_until(all_decided(world, lead.at), "decisions by who took over")
    first = world.audit.first_after(lead.at)
    return Takeover((lead.at - lead.renewed) / _SECOND, (max(first.values()) - lead.renewed) / _SECOND)


def _wait_since(at: int, seconds: float) -> None:
    time.sleep(max(0.0, at / _SECOND + seconds - time.time()))
