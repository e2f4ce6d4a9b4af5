"""Builds adapters from their sections, and lets go of them."""

import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from autoscaler.clock import Clock
from autoscaler.errors import AdapterError, AutoscalerError, named
from autoscaler.logger import Logger
from autoscaler.model import ShardName, TargetRef
from autoscaler.record import Ledger, make_folder
from autoscaler.runtime.wanted import Wanted, WantedAdapter
from autoscaler.target import Adapter, AdapterContext, AdapterValues, Closes, load
from autoscaler.threads import Stop, Stopping

_CLOSE_SECONDS: Final = 2.0
"""The contract gives an adapter one second to let go."""


class ShardMemory:
    """`target.AdapterMemory` in the ledger of the adapter's shard, which begins after the adapter was built."""

    def __init__(self) -> None:
        self.ledger: Ledger | None = None

    def load(self) -> Mapping[TargetRef, AdapterValues]:
        """Nothing before the shard begins."""
        return {} if self.ledger is None else self.ledger.adapter_memory()

    def save(self, target: TargetRef, values: AdapterValues | None) -> None:
        """As the ledger does. Raises AdapterError before the shard begins."""
        if self.ledger is None:
            raise AdapterError("an adapter may save nothing before it was first asked to observe")
        self.ledger.save_adapter_memory(target, values)


@dataclass(frozen=True, slots=True)
class Built:
    """An adapter of one shard."""

    adapter: Adapter
    memory: ShardMemory


class Builder:
    """Used from the main thread."""

    def __init__(self, state_dir: Path, clock: Clock, logger: Logger, stop: Stop) -> None:
        self._state_dir = state_dir
        self._clock = clock
        self._logger = logger
        self._stop = stop

    def build_all(self, shards: Mapping[ShardName, Wanted]) -> Mapping[ShardName, Built]:
        """An adapter for each. Raises AdapterError and Stopping: then none is left."""
        built: dict[ShardName, Built] = {}
        try:
            for name, wanted in shards.items():
                built[name] = self.build(name, wanted.adapter)
        except AutoscalerError:
            self.let_go(each.adapter for each in built.values())
            raise
        return built

    def build(self, shard: ShardName, wanted: WantedAdapter) -> Built:
        """The adapter of one shard. Raises AdapterError, which names the connection, and Stopping."""
        name, section, memory = shard.adapter, wanted.section, ShardMemory()
        context = AdapterContext(
            name=name,
            settings=section.settings,
            clock=self._clock,
            logger=self._logger,
            state_dir=make_folder(self._state_dir / "adapters" / name),
            memory=memory,
            dry_run=wanted.dry_run,
            dry_targets=wanted.dry_targets,
        )
        try:
            return Built(self._stop.run_interruptibly(lambda: load(section.type)(context)), memory)
        except Stopping:
            raise
        except AdapterError as error:
            raise AdapterError(f"adapters.{name}: {error}") from error
        except Exception as error:
            raise AdapterError(
                f"adapters.{name}: the adapter {section.type!r} cannot be built: {named(error)}; "
                "report it to the adapter's author"
            ) from error

    def let_go(self, adapters: Iterable[Adapter]) -> None:
        """Close them side by side, with a bound: one that hangs must not keep the others, or the process."""
        threads = [
            threading.Thread(target=self._let_go_of, args=(adapter,), daemon=True)
            for adapter in adapters
            if isinstance(adapter, Closes)
        ]
        for thread in threads:
            thread.start()
        until = time.monotonic() + _CLOSE_SECONDS
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _let_go_of(self, adapter: Closes) -> None:
        try:
            adapter.close()
        except Exception as error:  # noqa: BLE001 - foreign code; what it held is lost either way
            self._logger.warning("adapter_close_failed", error=named(error))
