"""The adapter for pools of local workers."""

import os
from collections.abc import Mapping, Sequence
from typing import ClassVar

from adapters.process import procfs
from adapters.process.keeper import Keeper
from adapters.process.records import Pool, Worker
from adapters.process.settings import PoolSettings, ProcessSettings, unknown_pool
from adapters.process.startable import unstartable
from adapters.process.upkeep import Upkeep
from autoscaler.target import (
    Adapter,
    AdapterContext,
    AdapterError,
    AwaitingDrain,
    Call,
    Hold,
    HoldReason,
    Instance,
    Limits,
    Phase,
    ScaleChange,
    ScaleOutcome,
    TargetError,
    TargetNotFound,
    TargetRef,
    TargetRefused,
    TargetState,
    TargetUnavailable,
    Written,
    check_before_write,
    files,
    nothing_written,
)


class Process(Adapter):
    """Pools of worker processes on this machine. The workers outlive the connection; the next one finds them again."""

    Settings: ClassVar = ProcessSettings
    drain_keys: ClassVar = frozenset({"http", "command"})
    one_host: ClassVar = True
    without_requests: ClassVar = True
    one_shard: ClassVar = True  # it keeps every pool of its section at its size

    @staticmethod
    def target_problem(target: TargetRef, settings: ProcessSettings) -> str | None:
        """Return why the target is invalid: its pool is not configured. The message names the nearest pool."""
        problem = unknown_pool(target.name, settings)
        return None if problem is None else f"name: {problem}"

    @staticmethod
    def size_problem(target: TargetRef, maximum: int, settings: ProcessSettings) -> str | None:
        """Return why `maximum` is too large: the pool has fewer ports."""
        pool = settings.pools.get(target.name)
        if pool is None or pool.ports is None or maximum <= len(pool.ports):
            return None
        has, more = len(pool.ports), maximum - len(pool.ports)
        return (
            f"{maximum} workers need as many ports, and pool {target.name!r} has {has} "
            f"({pool.ports[0]}-{pool.ports[-1]}); widen its `ports` by {more} or more (a worker that stops keeps its "
            "port until it has ended), or lower maxReplicas"
        )

    def __init__(self, context: AdapterContext[ProcessSettings]) -> None:
        if not procfs.available():
            raise AdapterError(
                f"adapter {context.name}: /proc does not show the machine's boot id, which identifies the workers; "
                "under systemd, set Environment=AUTOSCALER_BOOT_ID=%b; elsewhere, run the daemon on Linux"
            )
        self._context = context
        self._settings = context.settings
        self._keeper = Keeper(context)

    def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, TargetState | TargetError]:
        """Return the keeper's state, half a second old at most; readiness a second. Raises TargetUnavailable."""
        with self._keeper.pools(call) as pools:
            return {target: self._state(target, pools) for target in targets}

    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        """Save the size durably; the keeper then starts and stops workers. Raises TargetError."""
        with nothing_written(), self._keeper.pools(call) as pools:
            self._require_pool(target)
            pool, settings = pools[target.name], self._settings.pools[target.name]
            hold = _hold(target.name, settings, self._keeper.upkeep(target.name))
            unsent = check_before_write(str(target), change, pool.size, str(pool.revision), hold)
            if unsent is not None:
                return unsent
            self._refuse(target, change, settings)
            self._keeper.commit(target.name, pool.resized(change.size, change.victims))
            return Written(change.size)

    def release(self, target: TargetRef, instance: str, call: Call) -> None:
        """Save durably that the worker is drained; the keeper then ends it. Raises TargetError."""
        with self._keeper.pools(call) as pools:
            self._require_pool(target)
            self._keeper.commit(target.name, pools[target.name].released(instance))

    def extend(self, target: TargetRef, instance: str, call: Call) -> None:
        """Nothing: a worker waits without a limit."""

    def examine(self, target: TargetRef) -> str | None:
        """Return why the command cannot be started here, or the log or targets file not be written, or None."""
        pool = self._settings.pools.get(target.name)
        if pool is None:
            return None
        problems = []
        if (problem := unstartable(pool, os.environ)) is not None:
            problems.append(f"pool {target.name!r} could not start a worker: {problem}")
        if pool.targets_file is not None and (problem := files.unwritable(pool.targets_file)) is not None:
            problems.append(f"Prometheus would not find the workers of pool {target.name!r}: {problem}")
        if pool.log is not None and (problem := files.unwritable(pool.log)) is not None:
            problems.append(f"pool {target.name!r} could not start a worker without its log: {problem}")
        return "; ".join(problems) or None

    def try_write(self, target: TargetRef, call: Call) -> str:
        """Send nothing: no other program is asked to scale a pool. `examine` checks what the daemon's user needs."""
        with self._keeper.pools(call):
            self._require_pool(target)
        return "not needed: the daemon itself starts and ends the workers, with the rights of its own user"

    def close(self) -> None:
        """Release the pools. The workers go on."""
        self._keeper.close()

    def _require_pool(self, target: TargetRef) -> None:
        """Raise TargetNotFound for an unknown pool, TargetUnavailable for one that another daemon keeps."""
        if (problem := unknown_pool(target.name, self._settings)) is not None:
            raise TargetNotFound(f"{target}: {problem}")
        if (refusal := self._keeper.refusal(target.name)) is not None:
            raise TargetUnavailable(f"{target}: {refusal}")

    def _refuse(self, target: TargetRef, change: ScaleChange, settings: PoolSettings) -> None:
        if self._keeper.only_watches(target.name):
            raise TargetRefused(f"{target}: its autoscaler is a dry run, so nothing is changed")
        maximum = _limits(settings).maximum
        if maximum is not None and change.size > maximum:
            raise TargetRefused(
                f"{target}: {change.size} workers need as many ports, but there are only {maximum}; widen `ports`"
            )

    def _state(self, target: TargetRef, pools: Mapping[str, Pool]) -> TargetState | TargetError:
        try:
            self._require_pool(target)
        except TargetError as error:
            return error
        pool, settings, upkeep = pools[target.name], self._settings.pools[target.name], self._keeper.upkeep(target.name)
        workers = [worker for worker in pool.workers if worker.identity is not None]
        hold = _hold(target.name, settings, upkeep)
        exhausted = None if hold.scale_out is None else hold.scale_out.message
        return TargetState(
            replicas=pool.size,
            status_replicas=sum(not worker.stopping for worker in workers),
            instances=tuple([_instance(worker, settings) for worker in workers]),
            limits=_limits(settings),
            hold=hold,
            revision=str(pool.revision),
            awaiting_drain=tuple(map(_awaiting, upkeep.awaiting_drain(pool))),
            not_started=not pool.started and not pool.revision,
            warnings=tuple(filter(None, (exhausted, *upkeep.problems(pool), *self._keeper.problems(target.name)))),
        )


def _awaiting(worker: Worker) -> AwaitingDrain:
    return AwaitingDrain(worker.name, () if worker.port is None else (f"127.0.0.1:{worker.port}",))


def _instance(worker: Worker, settings: PoolSettings) -> Instance:
    addresses = set() if worker.port is None else {f"127.0.0.1:{worker.port}", f"localhost:{worker.port}"}
    pid = set() if worker.identity is None else {str(worker.identity.pid)}
    return Instance(
        name=worker.name,
        phase=Phase.RUNNING,
        ready=worker.ready,
        ready_transition=worker.ready_since,
        started_at=worker.started_at,
        deleting=worker.stopping,
        identities=frozenset({worker.name} | addresses | pid),
        detail="" if settings.readiness is None or worker.ready else settings.readiness.told(worker.probed),
    )


def _limits(settings: PoolSettings) -> Limits:
    if settings.ports is None:
        return Limits()
    return Limits(maximum=len(settings.ports), source=f"the pool's ports {settings.ports[0]}-{settings.ports[-1]}")


def _hold(name: str, settings: PoolSettings, upkeep: Upkeep) -> Hold:
    if not upkeep.no_free_port:
        return Hold()
    span = f"{settings.ports[0]}-{settings.ports[-1]}" if settings.ports else ""
    message = f"no port of {span} is free for another worker of pool {name}; widen `ports`, or end what uses them"
    return Hold(scale_out=HoldReason("PortsExhausted", message))
