"""The kinds of faults. Each begins and ends with an even division, and returns the duration of the takeover."""

import time
from collections.abc import Callable, Collection, Mapping
from typing import Final, NamedTuple, TypeAlias

from tests.faults.hosts.host import Host, wait_until
from tests.faults.hosts.moments import MOMENTS, Moment, strike
from tests.faults.hosts.recorder import Write, now_micros
from tests.faults.hosts.world import GROUPS, World

_SECOND: Final = 1_000_000
_LATE_LEASES: Final = (0.0, 0.5, 1.5, 2.5)
"""How long a request may be on its way."""
_LAGS: Final = 3
"""The number of different lags of a standby. The longest is a lease."""
_SUSPENDED_AT: Final = (Moment.INTENT, Moment.LOOK, Moment.REQUEST)


class Takeover(NamedTuple):
    """The duration of a takeover, in seconds after the fault."""

    held: float
    """Until others held all targets of the daemon."""
    decided: float
    """Until the last of its autoscalers had a new decision."""


Scenario: TypeAlias = Callable[[World, int], Takeover | None]
"""One run, with its number. None: there was nothing to take over."""


def kill(world: World, run: int) -> Takeover | None:
    """Kill a daemon (-9), at random and at each placed moment in turn. Its machine may reboot."""
    moment = MOMENTS[run % len(MOMENTS)]
    victim = _victim(world, moment)
    names, at = _strike(world, victim, moment, victim.kill)
    took = _taken_over(world, victim, names, at)
    if world.chance.random() < 0.5:
        victim.boot(world.chance)
    victim.start()
    world.wait_until_even()
    return took


def kill_unsent(world: World, run: int) -> Takeover | None:
    """Kill a daemon (-9) before it requests a size from AWS: its saved values about this write are wrong."""
    victim = _victim(world, Moment.LOOK)

    def lose(write: Write) -> None:
        write.lost = True

    names, at = _strike(world, victim, Moment.REQUEST, victim.kill, lose, backends=("aws",))
    took = _taken_over(world, victim, names, at)
    victim.start()
    world.wait_until_even()
    return took


def pause(world: World, run: int) -> Takeover | None:
    """Stop a daemon by SIGSTOP for three leases, then continue it: it must notice by itself that it is late."""
    return _stopped(world, MOMENTS[run % len(MOMENTS)], suspended=False)


def suspend(world: World, run: int) -> Takeover | None:
    """Suspend a machine for three leases in the middle of a write. Its CLOCK_MONOTONIC stands still meanwhile."""
    return _stopped(world, _SUSPENDED_AT[run % len(_SUSPENDED_AT)], suspended=True)


def cut(world: World, run: int) -> Takeover | None:
    """Cut a daemon off from the database for two leases: in turn its connections are closed, or silent."""
    victim = _victim(world)
    names = world.held()[victim.number]
    at = now_micros()
    victim.database.way.cut(silent=run % 2 == 1)
    took = _taken_over(world, victim, names, at)
    time.sleep(max(0.0, at / _SECOND + 2 * world.lease_seconds - time.time()))
    victim.database.way.mend()
    world.wait_until_even()
    return took


def restart(world: World, run: int) -> Takeover | None:
    """Restart the database, in turn in order and as after a crash. All daemons continue, in any division."""
    world.server.restart("immediate" if run % 2 else "fast")
    at = now_micros()
    world.wait_until_even()
    wait_until(all_decided(world, at), "decisions of all after the database came back")
    return None


def promote(world: World, run: int) -> Takeover | None:
    """Let the database fail, and promote a standby that lags before any lease is over, so no daemon takes over."""
    before = world.held()
    at = world.fail_over((run % _LAGS + 1) / _LAGS * world.lease_seconds)
    wait_until(all_decided(world, at), "decisions of all after the promotion")
    assert world.held() == before, "a promotion has moved autoscalers to another host"
    return None


PROMOTED: Final = "standby promoted"
SCENARIOS: Final[Mapping[str, Scenario]] = {
    "kill -9": kill,
    "kill -9 before AWS hears": kill_unsent,
    "SIGSTOP": pause,
    "machine suspended": suspend,
    "database cut off": cut,
    "database restarted": restart,
    PROMOTED: promote,
}


def _stopped(world: World, moment: Moment, *, suspended: bool) -> Takeover | None:
    victim = _victim(world, moment)
    names, at = _strike(world, victim, moment, victim.pause)
    took = _taken_over(world, victim, names, at)
    time.sleep(max(0.0, at / _SECOND + 3 * world.lease_seconds - time.time()))
    victim.go_on(suspended=suspended)
    world.wait_until_even()
    return took


def _victim(world: World, moment: Moment = Moment.RANDOM) -> Host:
    """Return one of the hosts whose daemons reach this moment."""
    held = world.held()
    return world.chance.choice(
        [host for host in world.hosts if moment is not Moment.LOOK or held[host.number] & {*GROUPS}]
    )


def _strike(
    world: World,
    victim: Host,
    moment: Moment,
    fault: Callable[[], int],
    late: Callable[[Write], object] | None = None,
    backends: Collection[str] | None = None,
) -> tuple[Collection[str], int]:
    """Cause the fault. Returns the autoscalers that the victim served then, and the time."""
    if moment is Moment.RANDOM:
        time.sleep(world.chance.uniform(0, 1))
    struck: list[int] = []
    names: set[str] = set()

    def cause() -> None:
        struck.append(fault())
        names.update(world.held().get(victim.number, ()))  # no daemon can have taken over yet

    seconds = world.chance.choice(_LATE_LEASES) * world.lease_seconds
    strike(victim, moment, cause, late or (lambda _: time.sleep(seconds)), backends)
    return names, struck[0]


def _taken_over(world: World, victim: Host, names: Collection[str], at: int) -> Takeover | None:
    """Wait until others serve these autoscalers and have decided about them. None: the victim served none."""
    if not names:
        return None
    targets = {world.target(name) for name in names}

    def taken() -> Mapping[str, int]:
        return _taken(world, victim, targets, at)

    wait_until(lambda: taken().keys() == targets, f"a takeover of what host {victim.number} held")
    last = max(taken().values())
    wait_until(lambda: _decided(world, names, last), "decisions by who took over")
    newest = world.audit.newest()
    return Takeover((last - at) / _SECOND, (min(newest[name] for name in names) - at) / _SECOND)


def _taken(world: World, victim: Host, targets: Collection[str], at: int) -> Mapping[str, int]:
    """Return target -> first time, for those of these targets that another host took over after that time."""
    since: dict[str, int] = {}
    for hold in world.audit.holds():
        if hold.at > at and hold.target in targets and world.host_of(hold.holder) != victim.number:
            since.setdefault(hold.target, hold.at)
    return since


def all_decided(world: World, after: int) -> Callable[[], bool]:
    """Return a function: whether every autoscaler has a decision after that time."""
    return lambda: _decided(world, world.names, after)


def _decided(world: World, names: Collection[str], after: int) -> bool:
    """Return whether every one of these autoscalers has a decision after that time."""
    newest = world.audit.newest()
    return all(newest.get(name, 0) > after for name in names)
