"""Shards without threads."""

from collections.abc import Mapping, Sequence

from autoscaler.model import ShardName


class SoundShards:
    """The status of `schedule.Shards` when each of these adapters has one shard and no shard hangs."""

    def __init__(self, *adapters: str) -> None:
        self._adapters = adapters

    def missed(self) -> Mapping[str, int]:
        return dict.fromkeys(self._adapters, 0)

    def hung(self) -> Sequence[ShardName]:
        return ()

    def superseded(self) -> Mapping[str, int]:
        return {}
