"""Claims: no two shards of a daemon scale the same target, even if their configurations name it differently.

A reload can move an autoscaler to another shard while a call for it hangs in the former one. A shard claims each
autoscaler's name and its target, with its connection's defaults written out, before it decides about it. The next epoch
of the shard takes its claims over. Claims belong to this process alone, because one daemon leads.
"""

import threading
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple, TypeAlias

from autoscaler.errors import StaleLedger
from autoscaler.model import ShardName

_AGAIN: Final = "the next cycle tries again"


class Owner(NamedTuple):
    """A shard in one epoch."""

    shard: ShardName
    epoch: str


Claim: TypeAlias = tuple[str, str]
"""What is claimed: "name" or "target", and which."""


class Claims:
    """The claims of all shards of this process. Any thread can use it."""

    def __init__(self, newest: dict[ShardName, str]) -> None:
        """`newest`: shard -> the newest epoch that this process began. Claims of other epochs are over."""
        self._newest = newest
        self._lock = threading.Lock()
        self._owners: dict[Claim, Owner] = {}

    def begin(self, owner: Owner) -> None:
        """Note a shard's new epoch, which has the claims of the one before: a call of that one may still hang."""
        with self._lock:
            self._newest[owner.shard] = owner.epoch
            self._owners.update({claim: owner for claim, each in self._owners.items() if each.shard == owner.shard})

    def claim(self, owner: Owner, wanted: Mapping[str, str]) -> Mapping[str, str]:
        """Claim these autoscalers, by name, with their targets as text; release the owner's other claims.

        An autoscaler gets both of its claims or neither. Returns those that another shard has, with a sentence. Raises
        StaleLedger if the owner's epoch is not the newest of its shard.
        """
        refused = dict[str, str]()
        with self._lock:
            if self._newest.get(owner.shard) != owner.epoch:
                raise StaleLedger(f"shard {owner.shard} was superseded; it claims nothing")
            mine = {claim for name, target in wanted.items() for claim in _claims(name, target)}
            self._release(owner, but=mine)
            for name, target in wanted.items():
                both = _claims(name, target)
                obstacle = next((text for claim in both if (text := self._obstacle(owner, claim))), None)
                if obstacle is None:
                    self._owners.update(dict.fromkeys(both, owner))
                    continue
                refused[name] = obstacle
                for claim in both:
                    if self._owners.get(claim) == owner:
                        del self._owners[claim]
        return refused

    def _obstacle(self, owner: Owner, claim: Claim) -> str | None:
        """Return which other shard has the claim; None if none has."""
        other = self._owners.get(claim)
        if other is None or other == owner or self._newest.get(other.shard) != other.epoch:
            return None
        kind, key = claim
        return f"shard {other.shard} of this daemon serves this {kind} ({key}); {_AGAIN}"

    def release(self, owner: Owner) -> None:
        """Release all claims of an owner whose last cycle and call have ended, or hang for too long."""
        with self._lock:
            self._release(owner, but=())

    def _release(self, owner: Owner, but: Collection[Claim]) -> None:
        for claim in [claim for claim, each in self._owners.items() if each == owner and claim not in but]:
            del self._owners[claim]


def _claims(name: str, target: str) -> tuple[Claim, Claim]:
    return ("name", name), ("target", target)
