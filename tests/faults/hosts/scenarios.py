"""The kinds of faults. Each begins and ends with all hosts sharing evenly, and says how long a takeover took."""

import time
from collections.abc import Callable, Collection, Mapping
from typing import Final, NamedTuple, TypeAlias

from tests.faults.hosts.host import Host, wait_until
from tests.faults.hosts.moments import MOMENTS, Moment, strike
from tests.faults.hosts.recorder import now_micros
from tests.faults.hosts.world import World

_SECOND: Final = 1_000_000
_CLOCK_SECONDS: Final = 600.0
_LATE_LEASES: Final = (0.0, 0.5, 1.5, 2.5)
"""How long a request may be on its way."""
Slot: TypeAlias = tuple[str, int]


class Takeover(NamedTuple):
    """How long it took after a fault. Seconds."""

    held: float
    """Until others held all slots."""
    decided: float
    """Until the last of their autoscalers was decided again."""


Scenario: TypeAlias = Callable[[World, int], Takeover | None]
"""One run, of this number. None: nothing had to be taken over."""


def kill(world: World, run: int) -> Takeover | None:
    """A daemon is killed (-9), at random and at each placed moment in turn."""
    victim = _victim(world)
    slots, at = _strike(world, victim, MOMENTS[run % len(MOMENTS)], victim.kill)
    took = _taken_over(world, victim, slots, at)
    victim.start()
    world.wait_until_even()
    return took


def pause(world: World, run: int) -> Takeover | None:
    """SIGSTOP of a daemon for three leases, then SIGCONT: it must find out by itself that it is late."""
    victim = _victim(world)
    slots, at = _strike(world, victim, MOMENTS[run % len(MOMENTS)], victim.pause)
    took = _taken_over(world, victim, slots, at)
    time.sleep(max(0.0, at / _SECOND + 3 * world.lease_seconds - time.time()))
    victim.go_on()
    world.wait_until_even()
    return took


def cut(world: World, run: int) -> Takeover | None:
    """One daemon's way to the database is cut for two leases: in turn its connections are closed, or all is silent."""
    victim = _victim(world)
    slots = world.held()[victim.number]
    at = now_micros()
    victim.database.way.cut(silent=run % 2 == 1)
    took = _taken_over(world, victim, slots, at)
    time.sleep(max(0.0, at / _SECOND + 2 * world.lease_seconds - time.time()))
    victim.database.way.mend()
    world.wait_until_even()
    return took


def clock(world: World, run: int) -> Takeover | None:
    """One host's wall clock is set 10 minutes forward or back, and then another host's daemon is killed."""
    wrong, victim = world.chance.sample(list(world.hosts), 2)
    before = world.held()
    wrong.clock.set(_CLOCK_SECONDS if run % 2 else -_CLOCK_SECONDS)
    began = now_micros()
    wait_until(lambda: _decided(world, before[wrong.number], began), "decisions of the host whose clock is wrong")
    time.sleep(world.lease_seconds)
    assert world.held() == before, "a clock that was set has moved slots"
    slots, at = _strike(world, victim, Moment.RANDOM, victim.kill)
    took = _taken_over(world, victim, slots, at)
    victim.start()
    world.wait_until_even()
    wrong.clock.set(0)
    return took


def restart(world: World, run: int) -> Takeover | None:
    """The database is restarted, in turn in order and as after a crash; all go on, whoever holds what then."""
    world.server.restart("immediate" if run % 2 else "fast")
    at = now_micros()
    every = [slot for slots in world.held().values() for slot in slots]
    world.wait_until_even()
    wait_until(lambda: _decided(world, every, at), "decisions of all after the database came back")
    return None


def twins(world: World, run: int) -> Takeover | None:
    """Two daemons are killed and started again at once; each fourth time all three."""
    count = len(world.hosts) if run % 4 == 3 else 2
    chosen = world.chance.sample(list(world.hosts), count)
    for host in chosen:
        host.kill()
    at = now_micros()
    time.sleep(world.chance.uniform(0, world.lease_seconds))
    for host in chosen:
        host.start()
    world.wait_until_even()
    every = list(world.slots_of_names())
    wait_until(lambda: _decided(world, every, at), "decisions of all after the start")
    return None


SCENARIOS: Final[Mapping[str, Scenario]] = {
    "kill -9": kill,
    "SIGSTOP": pause,
    "database cut off": cut,
    "clock 10 min off": clock,
    "database restarted": restart,
    "started at once": twins,
}


def _victim(world: World) -> Host:
    return world.chance.choice(list(world.hosts))


def _strike(world: World, victim: Host, moment: Moment, fault: Callable[[], int]) -> tuple[Collection[Slot], int]:
    """Cause it; the slots that the victim held then, and when it was."""
    if moment is Moment.RANDOM:
        time.sleep(world.chance.uniform(0, 1))
    slots = world.held()[victim.number]
    struck: list[int] = []
    late = world.chance.choice(_LATE_LEASES) * world.lease_seconds
    strike(victim, moment, lambda: struck.append(fault()), lambda: time.sleep(late))
    return slots, struck[0]


def _taken_over(world: World, victim: Host, slots: Collection[Slot], at: int) -> Takeover:
    """Once others hold these slots and have decided about them."""

    def others_hold() -> bool:
        held = world.held()
        return set(slots) <= {slot for number, them in held.items() if number != victim.number for slot in them}

    wait_until(others_hold, f"a takeover of what host {victim.number} held")
    since: dict[Slot, int] = {}
    for hold in world.audit.holds():
        slot = (hold.connection, hold.slot)
        if hold.at > at and slot in slots and hold.holder and world.host_of(hold.holder) != victim.number:
            since.setdefault(slot, hold.at)
    last = max(since.values())
    wait_until(lambda: _decided(world, slots, last), "decisions by who took over")
    newest, names = world.newest(), world.slots_of_names()
    return Takeover((last - at) / _SECOND, (min(newest[names[slot]] for slot in slots) - at) / _SECOND)


def _decided(world: World, slots: Collection[Slot], after: int) -> bool:
    """Whether every autoscaler in these slots was decided about after then. One that never was has no name there."""
    newest, names = world.newest(), world.slots_of_names()
    return all(slot in names and newest.get(names[slot], 0) > after for slot in slots)
