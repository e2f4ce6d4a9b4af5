"""How a shard is called."""

from collections.abc import Mapping
from dataclasses import dataclass


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
