"""Placeholder of the table: GROUPS INSTANCES shared|own."""

import sys
from statistics import median

from bench.fleet import bare
from bench.fleet.series import METRIC
from bench.fleet.world import configuration, cycles, running_daemon, running_fleet


def main() -> None:
    groups, instances, kind = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    with running_fleet(groups, instances) as fleet:
        least, count = bare.seconds(fleet.prometheus.url, METRIC)
        with running_daemon(fleet, configuration(fleet, own=kind == "own")) as daemon:
            before = daemon.cpu()
            n0, _ = daemon.cycles()
            took = cycles(daemon, 5, 150)
            n1, _ = daemon.cycles()
            used = daemon.cpu() - before
            print(
                f"{groups} x {instances} {kind}: series {count}, bare {least:.3f} s, cycles {[round(t, 2) for t in took]}, ratio {median(took or [0]) / least:.1f}, cpu/eval {used / max(1, n1 - n0) / groups * 1e6:.0f} us, {daemon.memory():.0f} MiB, log {(daemon.folder / 'log').stat().st_size / 1e6:.1f} MB"
            )
            print((daemon.folder / "log").read_text()[-700:])


if __name__ == "__main__":
    main()
