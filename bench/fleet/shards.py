"""How late three shards of a connection begin while the fourth hangs: `bench.fleet.shards [GROUPS [CYCLES]]`."""

import sys
from collections.abc import Sequence
from typing import Final

from autoscaler.model import TargetRef, shard_of
from bench.fleet.daemon import running_fleet_daemon
from bench.fleet.series import group_name
from bench.fleet.world import Fleet, Queries, running_fleet

_SHARDS: Final = 4
AIM_SECONDS: Final = 0.05


def late_seconds(fleet: Fleet, cycles: int) -> Sequence[float]:
    """Return the delays in seconds of this number of cycles of each shard that does not hang. Raises AssertionError."""
    document, hangs = fleet.configuration(Queries.SHARED), group_name(0)
    document["adapters"]["fleet"] |= {"shards": _SHARDS, "hangs": hangs}
    hung = shard_of(TargetRef("fleet", hangs), _SHARDS).number
    others = [number for number in range(1, _SHARDS + 1) if number != hung]
    with running_fleet_daemon(document) as daemon:

        def late(shard: int) -> list[float]:
            return [line["late_seconds"] for line in daemon.events("cycle_ended") if line["shard"] == shard][1:]

        daemon.until(lambda: all(len(late(shard)) >= cycles for shard in others), f"{cycles} cycles of three shards")
        return [each for shard in others for each in late(shard)[:cycles]]


def main() -> None:
    """Print the longest delay beside the aim."""
    given = [int(word) for word in sys.argv[1:]]
    groups, cycles = (*given, *(1_000, 5)[len(given) :])
    with running_fleet(groups, 10) as fleet:
        found = late_seconds(fleet, cycles)
    print(
        f"1 of {_SHARDS} shards hanging, {groups:,} x 10: the latest of {len(found)} cycles of the others began "
        f"{max(found) * 1000:.0f} ms after its plan   aim: within {AIM_SECONDS * 1000:.0f} ms"
    )


if __name__ == "__main__":
    main()
