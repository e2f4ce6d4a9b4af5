"""The back ends that are scaled, and where each records what it does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from tests.daemon.running import RunningDaemon
from tests.servers.docker import Engine
from tests.servers.nomad import NomadServer

MAXIMUM: Final = 2


@dataclass(frozen=True, slots=True)
class Started:
    """The first new instance, by its back end's records; times are Unix times."""

    accepted: float
    """When the back end accepted the new size."""
    started: float
    sample: str
    """The selector of a series that the instance alone has."""


@dataclass(frozen=True, slots=True)
class Arm:
    """A target that goes from one instance to two, and back."""

    name: str
    size: Callable[[], int]
    """Returns the number of its instances."""
    started: Callable[[float], Started | None]
    """Returns the instance that started since this time, or None."""


def processes(name: str, daemon: RunningDaemon, pool: str) -> Arm:
    """Return a pool of processes, which the daemon itself starts. Its autoscaler has the pool's name."""

    def last(event: str, since: float, **keys: Any) -> Mapping[str, Any] | None:
        found = [line for line in daemon.events(event, **keys) if _unix(line["timestamp"]) > since]
        return found[0] if found else None

    def started(since: float) -> Started | None:
        decision = last("decision", since, autoscaler=pool, written=MAXIMUM)
        worker = last("worker_started", since, pool=pool)
        if decision is None or worker is None:
            return None
        sample = f'work{{pool="{pool}",worker="{worker["worker"]}"}}'
        return Started(_unix(decision["timestamp"]), _unix(worker["timestamp"]), sample)

    def size() -> int:
        shown: int = daemon.get(f"/api/v1/autoscalers/{pool}").json()["data"]["instances"]["total"]
        return shown

    return Arm(name, size, started)


def swarm(name: str, engine: Engine, service: str) -> Arm:
    """Return a service whose tasks serve metrics."""

    def started(since: float) -> Started | None:
        for task, container in engine.running(service).items():
            began = _unix(engine.client.inspect_container(container)["State"]["StartedAt"])
            if began > since:
                accepted = _unix(engine.client.inspect_service(service)["UpdatedAt"])
                return Started(accepted, began, f'work{{task_id="{task}"}}')
        return None

    return Arm(name, lambda: len(engine.running(service)), started)


def nomad(name: str, server: NomadServer, job: str) -> Arm:
    """Return a job. Its allocations' samples are those that the agent has of them."""

    def running() -> Mapping[str, float]:
        """Return allocation -> when its task started."""
        return {
            one["ID"]: _unix(one["TaskStates"]["main"]["StartedAt"])
            for one in server.allocations(job)
            if one["ClientStatus"] == "running"
        }

    def started(since: float) -> Started | None:
        for allocation, began in running().items():
            if began > since:
                events = server.ask("GET", f"/v1/job/{job}/scale")["TaskGroups"]["work"]["Events"]
                accepted = min(at for each in events if (at := each["Time"] / 1e9) > since)
                return Started(accepted, began, f'nomad_client_allocs_memory_rss{{alloc_id="{allocation}"}}')
        return None

    return Arm(name, lambda: len(running()), started)


def _unix(text: str) -> float:
    """Return the Unix time of an RFC 3339 time, which may have nanoseconds."""
    whole, _, fraction = text.removesuffix("Z").partition(".")
    return datetime.fromisoformat(f"{whole}+00:00").timestamp() + float(f"0.{fraction or 0}")
