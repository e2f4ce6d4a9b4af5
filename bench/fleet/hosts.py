"""What a leader and two standbys on one PostgreSQL cost, and a takeover: `bench.fleet.hosts [GROUPS [CYCLES]]`.

The daemons and a real PostgreSQL run on this machine. Each autoscaler has an expression of its own. One leader is
enough for so many GROUPS if all cycles begin in time.
"""

import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from bench.fleet.daemon import Daemon, running_fleet_daemon
from bench.fleet.world import Fleet, Queries, running_fleet
from bench.processes import cpu_seconds
from tests.record.postgresql import empty_state, running_server

GROUPS: Final = 9_000
CYCLES: Final = 8
INSTANCES: Final = 10
AIM_LEADER: Final = 0.25
"""CPU seconds for 1,000 evaluations."""
AIM_DATABASE: Final = 0.02
IN_TIME_SECONDS: Final = 0.2
_STANDBYS: Final = 2
_SETTLED_CYCLES: Final = 2
"""Cycles before the measurement. The first one records whole rows."""


@dataclass(frozen=True)
class Cost:
    """What the daemons and the database used during some cycles."""

    late_seconds: Sequence[float]
    """The delay of each cycle of the leader."""
    evaluations: int
    leader: float
    """CPU seconds for 1,000 evaluations."""
    standbys: Sequence[float]
    """CPU seconds of each standby for 1,000 evaluations of the leader."""
    database: float
    """CPU seconds for 1,000 evaluations."""
    trouble: Sequence[str]
    """The events of warnings and errors in the logs."""
    takeover_began: float
    """Seconds from the moment in which a standby had the lease until its first cycle began, after the leader ended,"""
    takeover_ended: float
    """and until that cycle was recorded."""

    @property
    def in_time(self) -> int:
        """Return the number of cycles that began in time."""
        return sum(late <= IN_TIME_SECONDS for late in self.late_seconds)


def measure(fleet: Fleet, cycles: int) -> Cost:
    """Return the cost of this number of cycles. Raises AssertionError."""
    with ExitStack() as stack:
        server = stack.enter_context(running_server())
        document = fleet.configuration(Queries.OWN) | {"state": {"url": empty_state(server.address)}}
        leader = stack.enter_context(running_fleet_daemon(document))
        leader.wait_for("lease_gained")
        standbys = [stack.enter_context(running_fleet_daemon(document)) for _ in range(_STANDBYS)]
        for each in standbys:
            each.wait_for("ready")
        daemons = [leader, *standbys]
        began = len(leader.cycles(len(leader.events("cycle_ended")) + _SETTLED_CYCLES))
        before = [*_used(daemons), sum(map(cpu_seconds, server.pids))]
        ended = leader.cycles(began + cycles)[began : began + cycles]
        after = [*_used(daemons), sum(map(cpu_seconds, server.pids))]
        trouble = [line["event"] for daemon in daemons for line in daemon.trouble()]
        takeover = _take_over(leader, standbys)
    evaluations = sum(line["autoscalers"] for line in ended)
    used = [(new - old) / evaluations * 1000 for new, old in zip(after, before, strict=True)]
    return Cost(
        [line["late_seconds"] for line in ended], evaluations, used[0], used[1:-1], used[-1], trouble, *takeover
    )


def _take_over(leader: Daemon, standbys: Sequence[Daemon]) -> tuple[float, float]:
    """End the leader. Return the seconds until the first cycle of its successor began, and ended."""
    assert leader.stop() == 0
    standbys[0].until(lambda: any(one.events("lease_gained") for one in standbys), "a takeover")
    (successor,) = [one for one in standbys if one.events("lease_gained")]
    gained, first = successor.events("lease_gained")[0], successor.cycles(1)[0]
    seconds = (_time(first) - _time(gained)).total_seconds()
    return seconds - float(first["seconds"]), seconds


def _time(line: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(line["timestamp"])


def _used(daemons: Sequence[Daemon]) -> Sequence[float]:
    return [cpu_seconds(daemon.process.pid) for daemon in daemons]


def main() -> None:
    """Print each figure beside its aim."""
    given = [int(word) for word in sys.argv[1:]]
    groups, cycles = (*given, *(GROUPS, CYCLES)[len(given) :])
    with running_fleet(groups, INSTANCES) as fleet:
        found = measure(fleet, cycles)
    print(f"a leader and {_STANDBYS} standbys, {groups:,} x {INSTANCES}, {found.evaluations:,} evaluations")
    print(f"cycles begun within 200 ms of plan: {found.in_time} of {len(found.late_seconds)}   aim: all")
    print(f"CPU s for 1,000 evaluations, leader: {found.leader:.3f}   aim: at most {AIM_LEADER}")
    print(f"  each standby: {', '.join(f'{one:.3f}' for one in found.standbys)}   aim: none")
    print(f"  database: {found.database:.3f}   aim: at most {AIM_DATABASE}")
    print(f"from the lease to the first cycle: {found.takeover_began:.1f} s, to its end: {found.takeover_ended:.1f} s")
    print(f"warnings and errors: {', '.join(found.trouble) or 'none'}   aim: none")


if __name__ == "__main__":
    main()
