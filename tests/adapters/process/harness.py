"""Pools of real processes. The fixture that builds the harness ends them."""

import signal
import sys
import time
from pathlib import Path
from typing import Any

from adapters.process import Process
from adapters.process.procfs import Identity, carriers, runs, signal_carriers
from adapters.process.records import StateFile, Worker
from adapters.process.settings import ProcessSettings
from autoscaler.model import ScaleChange, TargetRef
from autoscaler.target import Adapter
from autoscaler.target.contract import Harness, RecordingLogger, make_context
from tests.waiting import until

HTTP_WORKER = [sys.executable, "-S", str(Path(__file__).with_name("http_worker.py")), "{port}"]


class ProcessHarness(Harness):
    """One connection with the pool `web`; by default its workers sleep."""

    target = TargetRef("local", "web")
    missing = TargetRef("local", "wep")
    chooses_victims = True
    poll_seconds = 0.02

    def __init__(
        self,
        folder: Path,
        *,
        dry_run: bool = False,
        dry_targets: frozenset[TargetRef] = frozenset(),
        others: dict[str, Any] | None = None,
        drains: bool = False,
        **pool: Any,
    ) -> None:
        pools = {"web": {"command": "sleep 1000", "gracePeriod": "2s", **pool}, **(others or {})}
        self.settings = ProcessSettings.model_validate({"pools": pools})
        self.state_dir = folder / "state"
        self.logger = RecordingLogger()
        self.drains = drains
        """Whether the pool's workers are drained before they end; `rebuild` follows a change."""
        self.process = self._build(dry_run=dry_run, dry_targets=dry_targets)
        self.adapter: Adapter = self.process

    def rebuild(self, *, dry_run: bool = False, dry_targets: frozenset[TargetRef] = frozenset()) -> Adapter:
        self.process.close()
        self.process = self._build(dry_run=dry_run, dry_targets=dry_targets)
        self.adapter = self.process
        return self.adapter

    def set_size_outside(self, size: int) -> None:
        """Set the size as another client of the pool would between our observation and our write."""
        state = self.observe()
        self.process.scale(
            self.target, ScaleChange(f"outside-{time.monotonic_ns()}", size, state.replicas, None, ""), self.call()
        )

    def unreachable(self) -> Adapter | str:
        """Return a second keeper of the same folder."""
        self.observe()  # the first keeper now keeps it
        return self._build(dry_run=False)

    def workers(self) -> tuple[Worker, ...]:
        """Return the workers of the state file."""
        pool = StateFile(self.state_dir).load().get("web")
        return pool.workers if pool else ()

    def identities(self) -> list[Identity]:
        return [worker.identity for worker in self.workers() if worker.identity is not None]

    def log(self) -> str:
        """Return the pool's output so far."""
        file = self.state_dir / "logs" / "web.log"
        return file.read_text() if file.exists() else ""

    def finish(self) -> None:
        """Close, and end every process that a worker is or has started."""
        self.process.close()
        for pool in StateFile(self.state_dir).load().values():
            for worker in pool.workers:
                _end(worker)

    def _build(self, *, dry_run: bool, dry_targets: frozenset[TargetRef] = frozenset()) -> Process:
        context = make_context(
            self.settings,
            self.state_dir,
            name="local",
            dry_run=dry_run,
            dry_targets=dry_targets,
            logger=self.logger,
            drains={self.target: None} if self.drains else {},
        )
        return Process(context)


def _end(worker: Worker) -> None:
    signal_carriers(worker.token, signal.SIGKILL)
    until(lambda: not carriers(worker.token), f"{worker.name} to end")


def wait_for_end(identity: Identity) -> None:
    until(lambda: not runs(identity), f"process {identity.pid} to end")
