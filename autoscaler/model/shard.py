"""How a shard is called, and which targets it serves."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from autoscaler.model.target import TargetRef


@dataclass(frozen=True, slots=True, order=True)
class ShardName:
    """A shard among those of its adapter connection: `fleet` where it is the only one, else `fleet/2`."""

    adapter: str
    """The connection's name, which has no `/`."""
    number: int = 1
    """From 1."""
    of: int = 1
    """How many shards the connection has."""

    def __str__(self) -> str:
        """As status and threads show it."""
        return self.adapter if self.of == 1 else f"{self.adapter}/{self.number}"

    def labels(self) -> Mapping[str, str | int]:
        """As the log's lines have it: `adapter`, and `shard` where there are several."""
        return {"adapter": self.adapter} | ({} if self.of == 1 else {"shard": self.number})


@lru_cache(maxsize=65_536)  # each cycle asks for it for every autoscaler
def shard_of(target: TargetRef, of: int) -> ShardName:
    """Which of this many shards of its connection serves a target: SHA-256 of the target's name, modulo `of`.

    The same for ever, in every process.
    """
    digest = hashlib.sha256(target.name.encode("utf-8", "surrogatepass")).digest()
    return ShardName(target.adapter, 1 + int.from_bytes(digest) % of, of)
