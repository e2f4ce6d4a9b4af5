"""The outage of a deployment that resets the size, on a real Nomad: with and without `recoverSize`."""

import signal
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from tests.daemon.running import running_daemon
from tests.servers.nomad import NomadServer, deployed, running_nomad, service
from tests.servers.prometheus import running_prometheus

KEPT: Final = "kept"
RESET: Final = "reset"
"""The job whose autoscaler has `recoverSize: false`."""
JOBS: Final = (KEPT, RESET)
SIZE: Final = 8
"""The size that the load needs."""


@dataclass(slots=True)
class Outage:
    """The result of a deployment of both jobs."""

    sizes: Mapping[str, set[int]] = field(default_factory=lambda: {job: set() for job in JOBS})
    """Job -> its counts since the deployment began."""
    written: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Job -> the sizes that the daemon has written since."""
    events: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Job -> the reasons of its autoscaler's events since."""


def outage(folder: Path) -> Outage:
    """Scale two jobs to SIZE, deploy both with their files' count of 1, and wait until both are back.

    The daemon is killed before, and both jobs are deployed twice until another one runs.
    """
    (folder / "nomad").mkdir()
    found = Outage()
    with (
        running_nomad(folder / "nomad") as nomad,
        running_prometheus(folder, [nomad.scrape()]) as prometheus,
    ):
        _register(nomad, "exec sleep 3600")
        prometheus.wait_for(f"count({_RUNNING}) == {len(JOBS)}")
        config = folder / "autoscaler.yaml"
        config.write_text(yaml.safe_dump(_configuration(prometheus.url, nomad.url)))
        with ExitStack() as daemons:
            daemon = daemons.enter_context(running_daemon(config))
            daemon.until(lambda: _at_rest(nomad), "growth to the size that the load needs", 180)
            decided = {job: len(daemon.events("decision", autoscaler=job)) for job in JOBS}
            for job, count in decided.items():  # a cycle that began at that size, so that the daemon remembers it
                daemon.wait_for("decision", count=count + 2, autoscaler=job)
            daemon.stop(signal.SIGKILL)
            _register(nomad, "exec sleep 3601")
            _register(nomad, "exec sleep 3602")
            daemon = daemons.enter_context(running_daemon(config))

            def back() -> bool:
                rests = _at_rest(nomad)
                for job, sizes in found.sizes.items():  # afterwards: the last size is among them
                    sizes.add(_size(nomad, job))
                return rests

            daemon.until(back, "return to that size", 300)
            at_rest = len(daemon.events("decision", autoscaler=KEPT))
            daemon.wait_for("decision", count=at_rest + 3, autoscaler=KEPT)  # they say what they find at rest
            found.written = {job: daemon.written(autoscaler=job) for job in JOBS}
            found.events = {
                job: [each["reason"] for each in daemon.get(f"/api/v1/events?name={job}").json()["data"]["events"]]
                for job in JOBS
            }
    return found


_RUNNING: Final = 'nomad_nomad_job_summary_running{job=~"kept|reset"}'


def _configuration(prometheus: str, address: str) -> dict[str, Any]:
    return {
        "controller": {"syncPeriod": "3s"},  # a busy machine has time for the answer of each write
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


def _register(nomad: NomadServer, command: str) -> None:
    update = deployed(MaxParallel=SIZE)
    for job in JOBS:
        nomad.register(service(job, count=1, command=command, Update=update))


def _size(nomad: NomadServer, job: str) -> int:
    (group,) = nomad.ask("GET", f"/v1/job/{job}")["TaskGroups"]
    count: int = group["Count"]
    return count


def _at_rest(nomad: NomadServer) -> bool:
    return all(_size(nomad, job) == SIZE and not nomad.deploying(job) for job in JOBS)
