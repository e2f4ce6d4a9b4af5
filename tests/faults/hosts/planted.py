"""Checks that the judge finds planted bugs, each in one host's daemons, on the back end that does not compare.

Each scene gives its bug a few chances to do harm. The judge's findings are the result.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

from tests.faults.hosts.host import Host, wait_until
from tests.faults.hosts.life import judged
from tests.faults.hosts.moments import Moment, strike
from tests.faults.hosts.reconfigured import RENAMED, rename
from tests.faults.hosts.recorder import Write, now_micros
from tests.faults.hosts.verdict import Announced
from tests.faults.hosts.world import OUTLASTING, World, running_world

_GROUPS: Final = ("fir", "ash")
"""Autoscalers that their policies limit, which are scaled often."""
_LONGER: Final = {"no seq": 5}
"""Leases are so many times longer: a promotion must fit into one."""
_LAG_LEASES: Final = 1.0
_ATTEMPTS: Final = 4
_WRITES_SECONDS: Final = 3.0
Scene: TypeAlias = Callable[[World, Host], None]


def found(bug: str, folder: Path, lease_seconds: float) -> Sequence[str]:
    """Return the judge's findings about this bug; none: it was not found."""
    lease_seconds *= _LONGER.get(bug, 1)
    with running_world(folder, seed=0, lease_seconds=lease_seconds, jobs=(), groups=_GROUPS, hosts=2) as world:
        wrong = world.hosts[0]
        wrong.planted = bug
        world.start()
        for _ in range(_ATTEMPTS):
            _SCENES[bug](world, wrong)
            outcome = judged(world, RENAMED if bug == "no claim" else bug)
            if findings := [*outcome.uncompared.broken, *outcome.exceeded, *outcome.unsettled]:
                return findings
    return []


def _stopped_after_it_looked(world: World, wrong: Host) -> None:
    """Stop the daemon after its last read of a clock until another daemon has written to that target."""
    strike(wrong, Moment.LOOK, wrong.pause, backends=("aws",))
    target, at = _about(world, wrong).target, now_micros()
    wait_until(lambda: _written(world, target, at, wrong, by_it=False), f"another one's write to {target}")
    _goes_on(world, wrong)


def _about(world: World, wrong: Host) -> Announced:
    """Return what the daemon will write."""
    return next(each for each in reversed(world.announced()) if each.host == wrong.number)


def _goes_on(world: World, wrong: Host) -> None:
    """Wait long enough for a write."""
    at, targets = wrong.go_on(), [world.target(name) for name in world.names]
    with suppress(AssertionError):
        wait_until(
            lambda: any(_written(world, target, at, wrong, by_it=True) for target in targets),
            "a write of its own",
            within=_WRITES_SECONDS,
        )
    world.wait_until_even()


def _believed(world: World, wrong: Host) -> None:
    """Kill the daemon before AWS gets a size. The other daemon takes over and writes."""
    lost: list[Write] = []

    def lose(write: Write) -> None:
        write.lost = True
        lost.append(write)

    strike(wrong, Moment.REQUEST, wrong.kill, lose, backends=("aws",))
    at = now_micros()
    target = lost[0].order.target
    wait_until(lambda: _written(world, target, at, wrong, by_it=False), f"another one's write to {target}")
    wrong.start()
    world.wait_until_even()


def _renamed(world: World, wrong: Host) -> None:
    """Rename the daemon's connection while the other daemon serves all under the old name."""
    other = world.hosts[1]
    wrong.kill()
    wait_until(lambda: world.held().get(other.number) == frozenset(world.names), "a takeover of all")
    wrong.configure(rename)
    at = wrong.start()
    targets = [world.target(name) for name in world.names]
    with suppress(AssertionError):
        wait_until(
            lambda: any(_written(world, target, at, wrong, by_it=True) for target in targets),
            "a write of its own",
            within=OUTLASTING * world.lease_seconds,
        )
    wrong.kill()
    wrong.configure(lambda _: None)
    wrong.start()
    world.wait_until_even()


def _taking_over(world: World, wrong: Host) -> None:
    """Kill the other daemon, and scale its targets for the length of their windows."""
    other = world.hosts[1]
    names = world.held()[other.number]
    other.kill()
    at = now_micros()
    wait_until(lambda: names <= world.held().get(wrong.number, frozenset()), "a takeover")
    targets = [world.target(name) for name in names]
    with suppress(AssertionError):
        wait_until(
            lambda: all(_written(world, target, at, wrong, by_it=True) for target in targets),
            "a write to each target",
            within=OUTLASTING * world.lease_seconds,
        )
    other.start()
    world.wait_until_even()


def _set_back(world: World, wrong: Host) -> None:
    """Promote a standby that lags, and scale the daemon's targets for a while."""
    at = world.fail_over(_LAG_LEASES * world.lease_seconds)
    targets = [world.target(name) for name in world.held()[wrong.number]]
    with suppress(AssertionError):
        wait_until(
            lambda: all(_written(world, target, at, wrong, by_it=True) for target in targets),
            "a write to each target",
            within=world.lease_seconds,
        )


def _written(world: World, target: str, since: int, wrong: Host, *, by_it: bool) -> bool:
    return any(
        write.accepted and write.order.target == target and write.called > since
        for write in world.writes()
        if (write.host == wrong.number) is by_it
    )


_SCENES: Final[Mapping[str, Scene]] = {
    "no lease check": _stopped_after_it_looked,
    "no check before the second request": _stopped_after_it_looked,
    "a belief that settles": _believed,
    "no claim": _renamed,
    "no seq": _set_back,
    "an age lost at a hand-over": _taking_over,
}
"""A scene for each of `plants.PLANTS`."""
