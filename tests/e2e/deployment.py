"""The outage of a deployment that resets the size, on a real Nomad: with and without `recoverSize`.

`python -m tests.e2e.deployment docs/images/deployment.svg` draws it.
"""

import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import yaml

from tests.daemon.running import RunningDaemon, running_daemon
from tests.servers.nomad import NomadServer, deployed, running_nomad, service
from tests.servers.prometheus import running_prometheus

KEPT: Final = "kept"
RESET: Final = "reset"
"""The job whose autoscaler has `recoverSize: false`."""
JOBS: Final = (KEPT, RESET)
SIZE: Final = 8
"""The size that the load needs."""
_SECOND: Final = 10**9


@dataclass(slots=True)
class Outage:
    """The result of a deployment of both jobs."""

    sizes: Mapping[str, list[tuple[float, int]]] = field(default_factory=lambda: {job: [] for job in JOBS})
    """Job -> its count at times, in seconds since the deployment began."""
    written: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Job -> the sizes that the daemon has written since."""
    events: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Job -> the reasons of its autoscaler's events since."""


def outage(folder: Path, healthy_seconds: float = 1, *, killed: bool = False) -> Outage:
    """Scale two jobs to SIZE, deploy both with their files' count of 1, and wait until both are back.

    `healthy_seconds`: how long a deployment waits for each batch of allocations. `killed`: the daemon is killed before,
    and both jobs are deployed twice until another one runs.
    """
    (folder / "nomad").mkdir()
    found = Outage()
    with (
        running_nomad(folder / "nomad") as nomad,
        running_prometheus(folder, [_scrape(nomad)]) as prometheus,
    ):
        _register(nomad, "exec sleep 3600", healthy_seconds)
        prometheus.wait_for(f"count({_RUNNING}) == {len(JOBS)}")
        config = folder / "autoscaler.yaml"
        config.write_text(yaml.safe_dump(_configuration(prometheus.url, nomad.url)))
        with ExitStack() as daemons:
            daemon = daemons.enter_context(running_daemon(config))
            daemon.until(lambda: _at_rest(nomad), "growth to the size that the load needs", 180)
            time.sleep(1)  # a cycle at that size, so that the daemon remembers it
            before = {job: len(_written(daemon, job)) for job in JOBS}
            if killed:
                daemon.stop(signal.SIGKILL)
            began = time.monotonic()
            _register(nomad, "exec sleep 3601", healthy_seconds)
            if killed:
                _register(nomad, "exec sleep 3602", healthy_seconds)
                daemon, before = daemons.enter_context(running_daemon(config)), dict.fromkeys(JOBS, 0)

            def back() -> bool:
                at = time.monotonic() - began
                for job, sizes in found.sizes.items():
                    sizes.append((at, _size(nomad, job)))
                return _at_rest(nomad)

            daemon.until(back, "return to that size", 300)
            for _ in range(20):
                back()
            found.written = {job: _written(daemon, job)[before[job] :] for job in JOBS}
            found.events = {
                job: [each["reason"] for each in daemon.get(f"/api/v1/events?name={job}").json()["data"]["events"]]
                for job in JOBS
            }
    return found


_RUNNING: Final = 'nomad_nomad_job_summary_running{job=~"kept|reset"}'


def _configuration(prometheus: str, address: str) -> dict[str, Any]:
    return {
        "controller": {"syncPeriod": "1s"},
        "prometheus": {"default": {"url": prometheus}},
        "adapters": {"nomad": {"type": "nomad", "address": address}},
        "log": {"decisions": "all"},
        "autoscalers": [_autoscaler(job) for job in JOBS],
    }


def _autoscaler(job: str) -> dict[str, Any]:
    """Return an autoscaler.

    An instance serves at most twice its target value, as if clients wait, so overload shows no more.
    """
    load = f'clamp_max(20 * sum(nomad_nomad_job_summary_running{{job="{job}"}}), {10 * SIZE})'
    target = {"type": "AverageValue", "averageValue": 10}
    return {
        "name": job,
        "scaleTargetRef": {"adapter": "nomad", "name": f"{job}/work"},
        "minReplicas": 1,
        "maxReplicas": 2 * SIZE,
        "recoverSize": job == KEPT,
        "metrics": [
            {"type": "External", "external": {"metric": {"name": "load"}, "query": {"expr": load}, "target": target}}
        ],
    }


def _scrape(nomad: NomadServer) -> dict[str, Any]:
    return {
        "job_name": "nomad",
        "metrics_path": "/v1/metrics",
        "honor_labels": True,
        "params": {"format": ["prometheus"]},
        "static_configs": [{"targets": [nomad.url.removeprefix("http://")]}],
    }


def _register(nomad: NomadServer, command: str, healthy_seconds: float) -> None:
    update = deployed(MaxParallel=SIZE, MinHealthyTime=int(healthy_seconds * _SECOND))
    for job in JOBS:
        nomad.register(service(job, count=1, command=command, Update=update))


def _size(nomad: NomadServer, job: str) -> int:
    (group,) = nomad.ask("GET", f"/v1/job/{job}")["TaskGroups"]
    count: int = group["Count"]
    return count


def _at_rest(nomad: NomadServer) -> bool:
    return all(_size(nomad, job) == SIZE and not nomad.deploying(job) for job in JOBS)


def _written(daemon: RunningDaemon, job: str) -> list[int]:
    lines = daemon.events("decision", autoscaler=job)
    return [line["written"] for line in lines if line["written"] is not None]


def main(file: Path) -> None:
    """Draw an outage."""
    with TemporaryDirectory() as folder:
        file.write_text(drawn(outage(Path(folder), healthy_seconds=10)))


def drawn(found: Outage) -> str:
    """Return the sizes over time, as SVG."""
    width, height, left, top = 640, 180, 40, 34
    last = max(sizes[-1][0] for sizes in found.sizes.values())

    def x(seconds: float) -> float:
        return left + seconds / last * (width - left - 10)

    def y(size: float) -> float:
        return top + (1 - size / SIZE) * height

    def line(sizes: Sequence[tuple[float, int]]) -> str:
        corners = [(0.0, SIZE)]
        for seconds, size in sizes:
            if size != corners[-1][1]:
                corners += [(seconds, corners[-1][1]), (seconds, size)]
        return " ".join(f"{x(seconds):.1f},{y(size):.1f}" for seconds, size in [*corners, (last, corners[-1][1])])

    rows = "".join(
        f'<path d="M{left} {y(size):.1f}H{width - 10}" stroke="{"#38464c" if size == 0 else "#d8dee0"}"/>'
        f'<text x="{left - 8}" y="{y(size) + 4:.1f}" text-anchor="end">{size}</text>'
        for size in (0, 1, SIZE // 2, SIZE)
    )
    ticks = "".join(
        f'<text x="{x(second):.1f}" y="{top + height + 18}" text-anchor="middle">{second} s</text>'
        for second in range(0, int(last) + 1, 10)
    )
    lines = "".join(
        f'<polyline points="{line(found.sizes[job])}" fill="none" stroke="{colour}" stroke-width="2.5"{dash}/>'
        f'<path d="M{place} 14h30" stroke="{colour}" stroke-width="2.5"{dash}/>'
        f'<text x="{place + 38}" y="18">{words}</text>'
        for job, colour, dash, place, words in (
            (RESET, "#b3452c", ' stroke-dasharray="6 4"', 260, "recoverSize: false"),
            (KEPT, "#0b6e75", "", left, "recoverSize: true (default)"),
        )
    )
    title = "The size of a Nomad group after a deployment whose file says 1"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top + height + 28}" role="img" '
        f'font-family="sans-serif" font-size="12" fill="#38464c"><title>{title}</title>'
        f'<rect width="100%" height="100%" fill="#ffffff"/>{rows}{ticks}{lines}'
        f'<text x="{width - 10}" y="18" text-anchor="end">size, after a deployment at 0 s</text></svg>\n'
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
