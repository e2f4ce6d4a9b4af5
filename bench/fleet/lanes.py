"""How late three lanes of a connection are while the fourth hangs: `python -m bench.fleet.lanes [GROUPS [CYCLES]]`."""

import sys
from collections.abc import Sequence
from typing import Final

from autoscaler.model import TargetRef
from autoscaler.record import lane_of
from bench.fleet.daemon import running_daemon
from bench.fleet.series import group_name
from bench.fleet.world import Fleet, Queries, running_fleet

_LANES: Final = 4
AIM_SECONDS: Final = 0.05


def late_seconds(fleet: Fleet, cycles: int) -> Sequence[float]:
    """Of so many cycles of each lane but the one that hangs, after its first. Raises BenchError."""
    document, hangs = fleet.configuration(Queries.SHARED), group_name(0)
    document["adapters"]["fleet"] |= {"lanes": _LANES, "hangs": hangs}
    hung = 1 + lane_of(TargetRef("fleet", hangs), _LANES)
    others = [number for number in range(1, _LANES + 1) if number != hung]
    with running_daemon(document) as daemon:

        def late(lane: int) -> list[float]:
            return [line["late_seconds"] for line in daemon.lines("cycle_ended") if line["lane"] == lane][1:]

        daemon.until(lambda: all(len(late(lane)) >= cycles for lane in others), f"{cycles} cycles of three lanes")
        return [each for lane in others for each in late(lane)[:cycles]]


def main() -> None:
    """Print the latest beside the aim."""
    given = [int(word) for word in sys.argv[1:]]
    groups, cycles = (*given, *(1_000, 5)[len(given) :])
    with running_fleet(groups, 10) as fleet:
        found = late_seconds(fleet, cycles)
    print(
        f"1 of {_LANES} lanes hanging, {groups:,} x 10: the latest of {len(found)} cycles of the others began "
        f"{max(found) * 1000:.0f} ms after its plan   aim: within {AIM_SECONDS * 1000:.0f} ms"
    )


if __name__ == "__main__":
    main()
