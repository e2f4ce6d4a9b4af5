"""`make bench-fleet`: a fleet against its aims, in one run. ARGS=quick takes a tenth of the autoscalers."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from bench.fleet import bare, hosts, shards
from bench.fleet.adapter import own_mebibytes
from bench.fleet.daemon import PERIOD_SECONDS, Daemon, Measured, running_fleet_daemon
from bench.fleet.series import METRIC
from bench.fleet.world import Fleet, Queries, running_fleet

_CYCLES: Final = 5
_STEADY_SECONDS: Final = 5 * 60
_RUNS: Final = 5
_LONG_PERIOD_SECONDS: Final = 40
"""Sync period for 10,000 queries: a cycle may take 30 s, and observing 20 s."""
_LONG_CYCLES: Final = 2


def main() -> None:
    """Measure and print."""
    scale = 10 if "quick" in sys.argv[1:] else 1
    try:
        with running_fleet(1_000 // scale, 10) as fleet:
            small = _beside_bare(fleet, Queries.SHARED, "at most 3")
            late = max(shards.late_seconds(fleet, _CYCLES))
            report("1 of 4 shards hanging: the latest cycle of the others", f"{late * 1000:.0f} ms", "within 50 ms")
        with running_fleet(10_000 // scale, 10) as fleet:
            _large(fleet, small, _STEADY_SECONDS // PERIOD_SECONDS // (5 if scale > 1 else 1))
        with running_fleet(10_000 // scale, 100) as fleet:
            _huge(fleet)
        with running_fleet(hosts.GROUPS // scale, hosts.INSTANCES) as fleet:
            _hosts(fleet)
    except AssertionError as error:
        sys.exit(str(error))


def report(what: str, found: str, aim: str) -> None:
    """Print one line."""
    print(f"{what:<58} {found:>22}   aim: {aim}", flush=True)


def _beside_bare(fleet: Fleet, queries: Queries, aim: str) -> Measured:
    with running_fleet_daemon(fleet.configuration(queries)) as daemon:
        found = daemon.measure(_CYCLES)
        least = bare.seconds(fleet.prometheus.url, METRIC)
    report(f"cycle / bare, {queries.name.lower()}, {_size(fleet)}", _ratio(found.cycle, least), aim)
    return found


def _large(fleet: Fleet, small: Measured, steady_cycles: int) -> None:
    began = time.monotonic()
    with running_fleet_daemon(fleet.configuration(Queries.SHARED)) as daemon:
        daemon.cycles(1)
        report("from the start to the end of the first cycle", f"{time.monotonic() - began:.1f} s", "under 20 s")
        shared = daemon.measure(_CYCLES)
        least = bare.seconds(fleet.prometheus.url, METRIC)
        report(f"cycle / bare, shared, {_size(fleet)}", _ratio(shared.cycle, least), "at most 3")
        report("of which reading targets and samples", f"{shared.observing:.2f} s", "none")
        report("the same beside a tenth of the autoscalers", f"{shared.cycle / small.cycle:.1f} times", "at most 11")
        report("evaluations a CPU second of the daemon", f"{shared.evaluations_a_second:,.0f}", "at least 6,000")
        report(f"resident at {_size(fleet)}", f"{shared.mebibytes:.0f} MiB", "at most 300 MiB")
        with daemon.scraped():
            steady = daemon.measure(steady_cycles)
        in_time = sum(late <= 0.2 for late in steady.late_seconds) / len(steady.late_seconds)
        report(f"cycles begun within 200 ms of plan, of {steady_cycles}", f"{in_time:.0%}", "100 %")
        _served(daemon)
        _reload(daemon)
    with running_fleet_daemon(fleet.configuration(Queries.OWN)) as daemon:
        own = daemon.measure(_CYCLES)
    report("own expressions / one shared query", _ratio(own.cycle, shared.cycle), "at most 1.3")
    long = {"controller": {"syncPeriod": f"{_LONG_PERIOD_SECONDS}s"}}
    with running_fleet_daemon(fleet.configuration(Queries.APART) | long) as daemon:
        apart = daemon.measure(_LONG_CYCLES)
        unanswered = daemon.failed()
    report("own expressions, none merged / merged", _ratio(apart.cycle, own.cycle), "at least 10")
    if unanswered:
        report("of the unmerged ones not answered by the deadline", f"{unanswered:,}", "none: it would take longer")


def _huge(fleet: Fleet) -> None:
    found = _beside_bare(fleet, Queries.OWN, "at most 2")  # one answer of a million samples is above maxAnswer
    own = own_mebibytes(fleet.groups, fleet.instances)
    report(f"resident at {_size(fleet)}", f"{found.mebibytes:.0f} MiB", "none")
    report("of which the adapter's own states", f"{own:.0f} MiB", "none")
    report("and the daemon without them", f"{found.mebibytes - own:.0f} MiB", "at most 700 MiB")


def _hosts(fleet: Fleet) -> None:
    found, of = hosts.measure(fleet, hosts.CYCLES), f"3 daemons on PostgreSQL, {_size(fleet)}"
    report(f"{of}: cycles in time", f"{found.in_time} of {len(found.late_seconds)}", "all")
    report("CPU s for 1,000 evaluations, the leader", f"{found.leader:.3f}", f"at most {hosts.AIM_LEADER}")
    report("the same, each standby", ", ".join(f"{one:.3f}" for one in found.standbys), "none")
    report("the same, PostgreSQL", f"{found.database:.3f}", f"at most {hosts.AIM_DATABASE}")
    report("from the lease to the first cycle of the next leader", f"{found.takeover_began:.1f} s", "none")
    report("and to its end", f"{found.takeover_ended:.1f} s", "none")


def _size(fleet: Fleet) -> str:
    return f"{fleet.groups:,} x {fleet.instances}"


def _ratio(seconds: float, least: float) -> str:
    return f"{seconds:.2f} / {least:.3f} s = {seconds / least:.1f}"


def _served(daemon: Daemon) -> None:
    for path, aim in (("/", "0.5 s"), ("/metrics", "1 s")):
        daemon.seconds_of(path)  # the first one reads the state and compiles templates
        report(path, f"{sorted(daemon.seconds_of(path) for _ in range(_RUNS))[_RUNS // 2]:.2f} s", f"under {aim}")
    get = [sys.executable, "-m", "autoscaler", "get", f"--server={daemon.url}"]
    report("autoscaler get", f"{_command(get):.2f} s", "under 2 s")
    check = [sys.executable, "-m", "autoscaler", "check", f"--config.file={daemon.config}"]
    report("autoscaler check", f"{_command(check, daemon.config.parent):.2f} s", "under 5 s")


def _command(words: list[str], site: Path | None = None) -> float:
    """Return the median seconds of a command that must succeed."""
    environment = os.environ | ({"PYTHONPATH": f"{site / 'site'}:{os.environ.get('PYTHONPATH', '')}"} if site else {})
    times = []
    for _ in range(3):
        began = time.perf_counter()
        done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
        times.append(time.perf_counter() - began)
        if done.returncode:
            raise AssertionError(f"{' '.join(words)} failed:\n{(done.stdout + done.stderr)[-2000:]}")
    return sorted(times)[1]


def _reload(daemon: Daemon) -> None:
    """Change ten autoscalers, and measure the delay of the other cycles."""
    before = len(daemon.events("cycle_ended"))
    daemon.config.write_text(daemon.config.read_text().replace('"maxReplicas": 20', '"maxReplicas": 21', 10))
    daemon.process.send_signal(signal.SIGHUP)
    daemon.until(lambda: bool(daemon.events("reloaded")), "the reload")
    after = daemon.cycles(len(daemon.events("cycle_ended")) + 2)[before:]
    late = max(line["late_seconds"] for line in after)
    report("latest cycle while a reload changes 10 autoscalers", f"{late * 1000:.0f} ms", "under 200 ms")


if __name__ == "__main__":
    main()
