"""`make bench-reaction`: the time from a rise of load to the first new instance, and what a short `syncPeriod` costs.

The daemon scales processes, a Swarm service and a Nomad job; the Nomad Autoscaler scales another Nomad job by the same
query, target, tolerance and period. All see each rise at once. It comes at a random moment, and Prometheus scrapes the
load in another phase after each, so that no arm always decides just after a scrape. ARGS=quick has short intervals.
"""

import random
import sys
import time
from collections import defaultdict
from typing import Final

import pytest

from bench.fleet.daemon import PERIOD_SECONDS, running_fleet_daemon
from bench.fleet.world import Fleet, Queries, running_fleet
from bench.processes import cpu_seconds
from bench.reaction.parts import SUM, parts, ratio, ratios, table
from bench.reaction.world import HIGH, LOW, OURS, TARGET, THEIRS, Times, World, running_world
from tests.waiting import until
from tools.golang import GoFailed

_QUICK_PERIOD: Final = 5
_GROUPS: Final = 1_000
_INSTANCES: Final = 10


def main(*, quick: bool) -> None:
    """Measure and print. Exits with 1 and the name of an arm that does not follow its load."""
    times, rises = (Times(2, 2, 1), 3) if quick else (Times(15, PERIOD_SECONDS, _QUICK_PERIOD), 12)
    try:
        reactions(times, rises)
        costs(_GROUPS // 10 if quick else _GROUPS, 15 if quick else 60)
    except GoFailed as error:
        sys.exit(f"the Nomad Autoscaler cannot be built: {error}; install Go, or put nomad-autoscaler on PATH")
    except (AssertionError, pytest.skip.Exception) as error:
        sys.exit(str(error))


def reactions(times: Times, rises: int) -> None:
    """Print the parts of all arms' reactions."""
    found: dict[str, list[dict[str, float]]] = defaultdict(list)
    with running_world(times) as world:
        phases = world.load.phases(rises, times.scrape)
        random.shuffle(phases)
        for number, phase in enumerate(phases, 1):
            settle(world, times, phase)
            time.sleep(random.uniform(0, times.scrape))
            seen = rise(world, times, f"rise {number}")
            for arm, seconds in seen.items():
                found[arm].append(seconds)
            sums = ", ".join(f"{arm} {seconds[SUM]:.1f} s" for arm, seconds in seen.items())
            print(f"rise {number} of {rises}: {sums}", flush=True)
    print(f"{rises} rises; {times.query}, scraped every {times.scrape} s; every {times.period} s")
    print("\n".join(table(found)))
    print(ratios(found, OURS, THEIRS))


def settle(world: World, times: Times, phase: str) -> None:
    """Lower the load, and wait until every arm has one instance and the query has forgotten the rise."""
    world.load.value = LOW
    world.load.expose(phase)
    time.sleep(5 * times.scrape)
    for arm in world.arms:
        until(lambda arm=arm: arm.size() == 1, f"{arm.name}: back to one instance", _patience(times), 0.5)  # type: ignore[misc]
    until(lambda: world.prometheus.query(f"{times.query} == {LOW}"), "the query's low value", _patience(times))


def rise(world: World, times: Times, which: str) -> dict[str, dict[str, float]]:
    """Raise the load. Returns arm -> the parts of its reaction. Raises AssertionError with an arm's name."""
    began = time.time()
    world.load.value = HIGH
    end = time.monotonic() + _patience(times)
    seen: dict[str, tuple[float, float, float]] = {}
    while missing := [arm for arm in world.arms if arm.name not in seen]:
        for arm in missing:
            if instance := arm.started(began):
                samples = _times(world, f"{instance.sample}[{_range(began)}]", instance.started)
                if samples:
                    seen[arm.name] = instance.accepted, instance.started, samples[0]
        names = ", ".join(arm.name for arm in missing)
        assert time.monotonic() < end, f"{names}: no sample of a new instance within {_patience(times):g} s of {which}"
        time.sleep(0.5)
    scraped = _times(world, f"load[{_range(began)}]", began - 1, HIGH)[0]
    above = _times(world, f"({times.query} > {TARGET * 1.1:g})[{_range(began)}:100ms]", began)[0]
    return {arm.name: parts((began, scraped, above, *seen[arm.name])) for arm in world.arms}


def _times(world: World, expr: str, since: float, value: float | None = None) -> list[float]:
    """Return the times of samples of a range since then, oldest first; `value`: of those with this value only."""
    samples = [sample for series in world.prometheus.query(expr) for sample in series["values"]]
    return sorted(at for at, seen in samples if at >= since and value in (None, float(seen)))


def _range(since: float) -> str:
    return f"{int(time.time() - since) + 2}s"


def _patience(times: Times) -> float:
    """Return the seconds after which an arm does not follow."""
    return 10 * times.scrape + 4 * times.period + 60


def costs(groups: int, seconds: int) -> None:
    """Print CPU seconds of the daemon, and of Prometheus above its scrapes, with the default period and a short one."""
    used: dict[int, list[tuple[float, float]]] = defaultdict(list)
    with running_fleet(groups, _INSTANCES) as fleet:
        rest = cpu_seconds(fleet.prometheus.pid)
        time.sleep(seconds)
        rest = cpu_seconds(fleet.prometheus.pid) - rest
        for period in (PERIOD_SECONDS, _QUICK_PERIOD, _QUICK_PERIOD, PERIOD_SECONDS):
            daemon, prometheus = _cost(fleet, period, seconds)
            used[period].append((daemon, prometheus - rest))
    print(f"CPU seconds in {seconds} s, {groups:,} autoscalers of {_INSTANCES} instances, own expressions")
    means = {period: [sum(each) / len(each) for each in zip(*some, strict=True)] for period, some in used.items()}
    for period, (daemon, prometheus) in means.items():
        print(f"  every {period:>2} s: daemon {daemon:.2f}, Prometheus' queries {prometheus:.2f}")
    few, many = means[PERIOD_SECONDS], means[_QUICK_PERIOD]
    print(f"  ratio: daemon {ratio(many[0], few[0])}, Prometheus' queries {ratio(many[1], few[1])}")


def _cost(fleet: Fleet, period: int, seconds: int) -> tuple[float, float]:
    """Return the CPU seconds of a daemon and of Prometheus."""
    with running_fleet_daemon(fleet.configuration(Queries.OWN, controller={"syncPeriod": f"{period}s"})) as daemon:
        daemon.calm(2)
        pids = daemon.process.pid, fleet.prometheus.pid
        before = [cpu_seconds(pid) for pid in pids]
        time.sleep(seconds)
        first, second = (cpu_seconds(pid) - used for pid, used in zip(pids, before, strict=True))
    return first, second


if __name__ == "__main__":
    main(quick=sys.argv[1:] == ["quick"])
