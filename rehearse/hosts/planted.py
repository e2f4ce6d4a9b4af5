"""Checks that the judge finds planted bugs, each in one host's daemons, on the back end that does not compare.

Each scene gives its bug a few chances to do harm. The judge's findings are the result.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

from rehearse.hosts.host import Host, wait_until
from rehearse.hosts.life import judged
from rehearse.hosts.moments import Moment, strike
from rehearse.hosts.reconfigured import rename
from rehearse.hosts.recorder import Write, now_micros
from rehearse.hosts.verdict import Announced
from rehearse.hosts.world import OUTLASTING, World, running_world

_GROUPS: Final = ("fir", "ash")
"""Autoscalers that their policies limit, which are scaled often."""
_LONGER: Final = {"no seq": 5}
"""Leases are so many times longer: a promotion must fit into one."""
_LAG_LEASES: Final = 1.0
_ATTEMPTS: Final = 4
_WRITES_SECONDS: Final = 3.0
_COMMITS_SECONDS: Final = 1.0
Scene: TypeAlias = Callable[[World, Host, Host], None]
"""With the daemon that has the bug, and the other one. One of them leads."""


def found(bug: str, folder: Path, lease_seconds: float) -> Sequence[str]:
    """Return the judge's findings about this bug; none: it was not found."""
    lease_seconds *= _LONGER.get(bug, 1)
    with running_world(folder, seed=0, lease_seconds=lease_seconds, jobs=(), groups=_GROUPS, hosts=2) as world:
        wrong, other = world.hosts
        wrong.planted = bug
        world.start()
        for _ in range(_ATTEMPTS):
            _SCENES[bug](world, wrong, other)
            outcome = judged(world, bug)
            if findings := [
                *outcome.uncompared.broken,
                *outcome.without_lead,
                *outcome.exceeded,
                *outcome.unsettled,
            ]:
                return findings
    return []


def _stopped_after_it_looked(world: World, wrong: Host, other: Host) -> None:
    """Stop the leader after its last read of a clock until the other daemon has written to that target."""
    world.let_lead(wrong)
    strike(wrong, Moment.LOOK, wrong.pause, backends=("aws",))
    target, at = _about(world, wrong).target, now_micros()
    wait_until(lambda: _written(world, target, at, other), f"the other one's write to {target}")
    at = wrong.go_on()
    with suppress(AssertionError):
        wait_until(lambda: _any_written(world, at, wrong), "a write of its own", within=_WRITES_SECONDS)
    world.wait_until_whole()


def _stopped_before_its_outcome(world: World, wrong: Host, other: Host) -> None:
    """Stop the leader before it records a write, and continue it when the other daemon has taken the lease.

    Until it has had the time for a commit, the other daemon does not know that it leads.
    """
    world.let_lead(wrong)
    strike(wrong, Moment.ANSWER, wrong.pause, backends=("aws",))

    def go_on() -> None:
        wrong.go_on()
        time.sleep(_COMMITS_SECONDS)

    strike(other, Moment.TAKEOVER, go_on)
    world.wait_until_whole()


def _believed(world: World, wrong: Host, other: Host) -> None:
    """Kill the leader before AWS gets a size. The other daemon takes over and writes."""
    world.let_lead(wrong)
    lost: list[Write] = []

    def lose(write: Write) -> None:
        write.lost = True
        lost.append(write)

    strike(wrong, Moment.REQUEST, wrong.kill, lose, backends=("aws",))
    at = now_micros()
    target = lost[0].order.target
    wait_until(lambda: _written(world, target, at, other), f"the other one's write to {target}")
    wrong.start()
    world.wait_until_whole()


def _taking_over(world: World, wrong: Host, other: Host) -> None:
    """Kill the other daemon, which leads, and scale its targets for the length of their windows."""
    world.let_lead(other)
    other.kill()
    at = now_micros()
    wait_until(lambda: world.leading() is wrong, "a takeover")
    _all_written(world, at, wrong, within=OUTLASTING * world.lease_seconds)
    other.start()
    world.wait_until_whole()


def _set_back(world: World, wrong: Host, other: Host) -> None:
    """Promote a standby that lags, and scale the daemon's targets for a while."""
    world.let_lead(wrong)
    at = world.fail_over(_LAG_LEASES * world.lease_seconds)
    _all_written(world, at, wrong, within=world.lease_seconds)
    world.wait_until_whole()


def _renamed(world: World, wrong: Host, other: Host) -> None:
    """Rename what the daemon scales, and back, each time after a change of each size. The judge merges the names."""
    world.let_lead(wrong)
    for change in (rename, _nothing):
        _all_written(world, now_micros(), wrong, within=OUTLASTING * world.lease_seconds)
        wrong.reload(change)
        _all_written(world, now_micros(), wrong, within=OUTLASTING * world.lease_seconds)
    world.wait_until_whole()


def _nothing(_: object) -> None:
    """Change nothing of the first configuration."""


def _about(world: World, wrong: Host) -> Announced:
    """Return what the daemon will write."""
    return next(each for each in reversed(world.announced()) if each.host == wrong.number)


def _all_written(world: World, since: int, by: Host, within: float) -> None:
    """Wait so many seconds for a write to each target."""
    targets = [world.target(name) for name in world.names]
    with suppress(AssertionError):
        wait_until(
            lambda: all(_written(world, target, since, by) for target in targets), "a write to each target", within
        )


def _written(world: World, target: str, since: int, by: Host) -> bool:
    return any(
        write.accepted and write.order.target == target and write.called > since and write.host == by.number
        for write in world.writes()
    )


def _any_written(world: World, since: int, by: Host) -> bool:
    return any(_written(world, world.target(name), since, by) for name in world.names)


_SCENES: Final[Mapping[str, Scene]] = {
    "no lease check": _stopped_after_it_looked,
    "no check before the second request": _stopped_after_it_looked,
    "no fence in a commit": _stopped_before_its_outcome,
    "a belief that settles": _believed,
    "no seq": _set_back,
    "an age lost at a takeover": _taking_over,
    "memory by name": _renamed,
}
"""A scene for each of `plants.PLANTS`."""
