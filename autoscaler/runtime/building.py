"""Builds adapters from their sections, and closes them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from autoscaler.clock import Clock
from autoscaler.config.settings import AdapterSection
from autoscaler.errors import AdapterError, AutoscalerError, StateError, named
from autoscaler.logger import Logger
from autoscaler.model import ShardName, TargetRef
from autoscaler.record.folder import make_folder
from autoscaler.record.ledger import Ledger
from autoscaler.runtime.wanted import Wanted, WantedAdapter
from autoscaler.target import Adapter, AdapterContext, AdapterValues, load
from autoscaler.threads import NoThread, Stop, spawn

BUILD_SECONDS: Final = 10.0
"""How long the main thread waits for an adapter's constructor, which must not connect; once for a connection."""
_HANGS: Final = (
    f"the adapter's constructor has not returned within {BUILD_SECONDS:g} s; its autoscalers are not scaled until it "
    "returns; report it to the adapter's author"
)
_CLOSE_SECONDS: Final = 2.0
"""Limit for closing all adapters. The contract allows one second for an adapter."""


class NotBuilt(AdapterError):
    """A constructor of an adapter has not returned yet. It may still return."""


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
        self._late: dict[ShardName, tuple[WantedAdapter, Future[BuiltAdapter]]] = {}
        """What is not built yet, by shard. A later call takes it, so that no second thread hangs in the constructor."""

    def build_all(
        self, shards: Mapping[ShardName, Wanted], running: Collection[ShardName] = ()
    ) -> Mapping[ShardName, BuiltAdapter]:
        """Build an adapter for each shard. Raises AdapterError and Stopping; then closes those already built.

        Leaves out a shard whose constructor does not return, unless it is one of those `running`: nothing is lost yet.
        """
        built: dict[ShardName, BuiltAdapter] = {}
        try:
            for name, wanted in shards.items():
                try:
                    built[name] = self.build(name, wanted.adapter)
                except NotBuilt:
                    if name in running:
                        raise
        except AutoscalerError:
            self.close(adapter for each in built.values() for adapter in each.adapters)
            raise
        return built

    def build(self, shard: ShardName, wanted: WantedAdapter) -> BuiltAdapter:
        """Build the adapters of one shard. Raises AdapterError, which names the connection, NoThread and Stopping.

        Waits BUILD_SECONDS for a constructor, but not if one of this connection was late and has not returned.
        """
        waited = any(name.adapter == shard.adapter and not one.done() for name, (_, one) in self._late.items())
        known, building = self._late.pop(shard, (None, None))
        if building is not None and known != wanted:
            building.add_done_callback(self._close_late)
            building = None
        if building is None:
            building = spawn("build", partial(self._build_shard, shard, wanted))
        if not waited:
            with suppress(StateError):  # too late, or its own, which `result` raises
                return self._stop.wait_for(building, BUILD_SECONDS)
        if building.done():
            return building.result()
        self._late[shard] = wanted, building
        raise NotBuilt(f"adapters.{shard.adapter}: {_HANGS}")

    def _close_late(self, building: Future[BuiltAdapter]) -> None:
        """Close what was built for a configuration that is not in force any more."""
        if building.exception() is None:
            self.close(building.result().adapters)

    def _build_shard(self, shard: ShardName, wanted: WantedAdapter) -> BuiltAdapter:
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
        context = replace(self._context(name, section), dry_run=True)
        return self._stop.run_interruptibly(partial(self._build, section, context))

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
            return load(section.type)(context)
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
