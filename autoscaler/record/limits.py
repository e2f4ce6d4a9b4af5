"""A connection's limits, exact with any number of ledgers and hosts.

A ledger reads how far the limits are used before a cycle's decisions are cut to what is left, and reads it again in the
commit of the intents. One commit of the connection at a time does that. A decision that no longer fits is not written.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from sqlalchemy import Connection

from autoscaler.decide import apply_limits
from autoscaler.errors import StateError
from autoscaler.model import (
    CONNECTION_LIMITS,
    Autoscaler,
    ConnectionLimits,
    Decision,
    History,
    Standing,
    TargetRef,
)
from autoscaler.moment import Moment
from autoscaler.record.entries import Entry, Key
from autoscaler.record.housekeeping import Housekeeper
from autoscaler.record.locks import Lock, wait_for
from autoscaler.record.removals import IntendedRemoval, intend_removals, read_removals, settle_removals
from autoscaler.record.totals import Totals, read_totals


class Limits:
    """Used by the ledger's thread."""

    def __init__(self, name: str, housekeeper: Housekeeper) -> None:
        """`name`: the adapter connection's. `housekeeper`: has this daemon's configured autoscalers."""
        self._name: Final = name
        self._housekeeper = housekeeper
        self.limits = ConnectionLimits()
        self.scalers: Mapping[Key, Autoscaler] = {}
        """The ledger's autoscalers."""
        self._intended: Mapping[int, IntendedRemoval] = {}
        """The removals of the current cycle, by autoscaler id."""

    def standing(self, connection: Connection, moment: Moment, busy: frozenset[TargetRef]) -> Standing:
        """Return how far the limits are used at this moment."""
        budget, totals = self.limits.removal_budget, Totals({}, 0)
        removals = () if budget is None else read_removals(connection, self._name, budget, moment)
        if self.limits.max_total is not None:
            known = {**self._housekeeper.configured, **self.scalers}
            totals = read_totals(connection, self._name, self.scalers, known)
        return Standing(self._name, self.limits, removals, totals.sizes, totals.others, busy)

    def begin(self) -> None:
        """Begin a cycle. Removals that an earlier cycle did not record stay counted."""
        self._intended = {}

    def intend(
        self,
        connection: Connection,
        pairs: Sequence[tuple[Entry, Decision]],
        decisions: Sequence[Decision],
        history: Mapping[str, History],
        moment: Moment,
        busy: frozenset[TargetRef],
    ) -> Mapping[str, Exception]:
        """Count these decisions towards the limits. `decisions`: all of the cycle, made from `history` at `moment`.

        Returns the autoscalers whose decision no longer fits, with the reason. They may not be written.
        """
        if not self._binds([made for _, made in pairs]):
            return {}
        wait_for(connection, Lock.LIMITS, self._name)
        standing = self.standing(connection, moment, busy)
        again = {made.name: made for made in apply_limits(decisions, history, standing, decisions[0].now).decisions}
        late = {
            made.name: StateError(
                f"nothing was written because another shard used the limit first: {_why_cut(again[made.name])}; the "
                "next cycle tries again"
            )
            for _, made in pairs
            if made.change != again[made.name].change
        }
        if self.limits.removal_budget is not None:
            kept = [(entry, made) for entry, made in pairs if made.name not in late]
            self._intended = intend_removals(connection, kept, standing, moment)
        return late

    def settle(self, connection: Connection, pairs: Sequence[tuple[Entry, Decision]]) -> None:
        """Correct the count to what these decisions removed."""
        settle_removals(connection, pairs, self._intended)

    def _binds(self, live: Sequence[Decision]) -> bool:
        """Return whether a limit applies to any of these."""
        changes = [made.change for made in live if made.change is not None]
        falls = any(one.size < one.decided_from for one in changes)
        rises = any(one.size > one.decided_from for one in changes)
        return (falls and self.limits.removal_budget is not None) or (rises and self.limits.max_total is not None)


def _why_cut(made: Decision) -> str:
    return next(step.detail for step in reversed(made.trace) if step.reason in CONNECTION_LIMITS)
