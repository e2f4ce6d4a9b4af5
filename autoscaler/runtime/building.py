"""Builds adapters from their sections, and closes them."""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from autoscaler.clock import Clock
from autoscaler.config.settings import AdapterSection
from autoscaler.errors import AdapterError, AutoscalerError, named
from autoscaler.logger import Logger
from autoscaler.model import ShardName, TargetRef
from autoscaler.record import Ledger, make_folder
from autoscaler.runtime.wanted import Wanted, WantedAdapter
from autoscaler.target import Adapter, AdapterContext, AdapterValues, load
from autoscaler.threads import NoThread, Stop, Stopping, spawn

_CLOSE_SECONDS: Final = 2.0
"""Limit for closing all adapters. The contract allows one second for an adapter."""


class ShardMemory:
    """Implements `target.AdapterMemory` with the ledger of the adapter's shard, which begins after the adapter."""

    def __init__(self) -> None:
        self.ledger: Ledger | None = None

    def load(self) -> Mapping[TargetRef, AdapterValues]:
        """Return the saved values by target; nothing before the shard begins."""
        return {} if self.ledger is None else self.ledger.adapter_memory()

    def save(self, target: TargetRef, values: AdapterValues | None) -> None:
        """Commit the values of a target. Raises AdapterError before the shard begins."""
        if self.ledger is None:
            raise AdapterError("an adapter may save nothing before its first `observe`")
        self.ledger.save_adapter_memory(target, values)


@dataclass(frozen=True, slots=True)
class BuiltAdapter:
    """One shard's adapter, and its memory."""

    adapter: Adapter
    memory: ShardMemory
    nodes: Mapping[str, Adapter] = field(default_factory=dict)
    """By connection: adapters of this shard alone, which drain the nodes of its instances."""

    @property
    def adapters(self) -> Sequence[Adapter]:
        """All of them, to be closed."""
        return self.adapter, *self.nodes.values()


class Builder:
    """Builds and closes adapters. Used by the main thread."""

    def __init__(self, state_dir: Path, clock: Clock, logger: Logger, stop: Stop) -> None:
        self._state_dir = state_dir
        self._clock = clock
        self._logger = logger
        self._stop = stop

    def build_all(self, shards: Mapping[ShardName, Wanted]) -> Mapping[ShardName, BuiltAdapter]:
        """Build an adapter for each shard. Raises AdapterError and Stopping; then closes those already built."""
        built: dict[ShardName, BuiltAdapter] = {}
        try:
            for name, wanted in shards.items():
                built[name] = self.build(name, wanted.adapter)
        except AutoscalerError:
            self.close(adapter for each in built.values() for adapter in each.adapters)
            raise
        return built

    def build(self, shard: ShardName, wanted: WantedAdapter) -> BuiltAdapter:
        """Build the adapters of one shard. Raises AdapterError, which names the connection, and Stopping."""
        memory = ShardMemory()
        context = replace(
            self._context(shard.adapter, wanted.section),
            memory=memory,
            dry_run=wanted.dry_run,
            dry_targets=wanted.dry_targets,
            drains=wanted.drains,
        )
        adapter, nodes = self._build(wanted.section, context), dict[str, Adapter]()
        try:
            for name, section in wanted.nodes.items():
                nodes[name] = self._build(section, self._context(name, section))
        except AutoscalerError:
            self.close([adapter, *nodes.values()])
            raise
        return BuiltAdapter(adapter, memory, nodes)

    def build_reader(self, name: str, section: AdapterSection) -> Adapter:
        """Build an adapter that changes nothing. From any thread. Raises AdapterError and Stopping."""
        return self._build(section, replace(self._context(name, section), dry_run=True))

    def _context(self, name: str, section: AdapterSection) -> AdapterContext[Any]:
        return AdapterContext(
            name=name,
            settings=section.settings,
            clock=self._clock,
            logger=self._logger,
            state_dir=make_folder(self._state_dir / "adapters" / name),
            dry_run=False,
            discovers=section.discover is not None,
        )

    def _build(self, section: AdapterSection, context: AdapterContext[Any]) -> Adapter:
        name = context.name
        try:
            return self._stop.run_interruptibly(lambda: load(section.type)(context))
        except Stopping:
            raise
        except AutoscalerError as error:
            raise AdapterError(f"adapters.{name}: {error}") from error
        except Exception as error:
            raise AdapterError(
                f"adapters.{name}: the adapter {section.type!r} cannot be built: {named(error)}; "
                "report it to the adapter's author"
            ) from error

    def close(self, adapters: Iterable[Adapter]) -> None:
        """Close adapters concurrently, within a time limit, so that one that hangs delays nothing else."""
        closing = list[Future[None]]()
        for adapter in adapters:
            try:
                closing.append(spawn("close", partial(self._close, adapter)))
            except NoThread as error:
                self._logger.warning("adapter_close_failed", error=str(error))
        wait(closing, _CLOSE_SECONDS)

    def _close(self, adapter: Adapter) -> None:
        try:
            adapter.close()
        except Exception as error:  # noqa: BLE001 - foreign code, and the adapter is not used again
            self._logger.warning("adapter_close_failed", error=named(error))
