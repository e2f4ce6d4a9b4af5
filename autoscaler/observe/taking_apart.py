"""Decides which members of merged queries that failed are asked alone in the same cycle, for one source.

This must not overload the source further:

- A query is taken apart only if the source answered quickly in this cycle: another query, or this one with a refusal.
  Where neither is so, one member is asked first.
- At most MAX_COSTLY members are asked alone because of their cost, including those of earlier cycles. Beyond this, the
  source is slow. While the source answers nothing but refusals, the limit holds for refused members too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from autoscaler.observe.asked_alone import MAX_COSTLY
from autoscaler.observe.failure import QueryFailure
from autoscaler.observe.plan import Question
from autoscaler.observe.planner.query import PlannedQuery

_SPREAD: Final = 0.618
"""Distance of the members that are asked first in successive cycles, in shares of the query. Neighbours are alike."""


@dataclass(slots=True, eq=False)
class _Failed:
    """A merged query that failed."""

    members: list[PlannedQuery]
    """Those without a result, each as written."""
    error: QueryFailure
    refused: bool
    """Whether the source quickly refused it."""


class _First(NamedTuple):
    """The member that is asked first."""

    member: PlannedQuery
    of: _Failed


class TakingApart:
    """The merged queries to one source that failed in one cycle."""

    def __init__(self, heavy: int, unanswered: Sequence[Question], turn: int) -> None:
        """`heavy`: how many questions are asked alone because of their cost in earlier cycles.

        `unanswered`: the questions without an answer when they were last asked, longest first. `turn`: how often the
        member that was asked first did not show that the source answers quickly.
        """
        self.responsive = False
        """Whether the source has answered a query quickly, and not with an error."""
        self.given_up: list[tuple[PlannedQuery, QueryFailure]] = []
        """Members that are not asked alone in this cycle, with the error of their merged query."""
        self._left = MAX_COSTLY - heavy
        """How many more members may be asked because of their cost."""
        self._rank = {question: rank for rank, question in enumerate(unanswered)}
        self._turn = turn
        self._failed: list[_Failed] = []
        self._first: _First | None = None
        self._begun = False
        """Whether a query was taken apart."""

    @property
    def asked_first(self) -> bool:
        """Return whether a member was asked first."""
        return self._first is not None

    def add(self, members: Sequence[PlannedQuery], error: QueryFailure, *, refused: bool) -> None:
        """Add a merged query that failed. `refused`: the source quickly refused it."""
        self._failed.append(_Failed(list(members), error, refused))

    def take_back(self, member: PlannedQuery, *, refused: bool) -> bool:
        """Return whether a member that failed has no result of its own: it was asked first, and may not be the cause.

        `refused`: the source quickly refused it, which is a result.
        """
        if self._first is None or member is not self._first.member or self._first.of not in self._failed:
            return False
        if refused:
            self._first.of.refused = True
        else:
            self._first.of.members.append(member)
        return not refused

    def decide(self, *, last: bool) -> Sequence[PlannedQuery]:
        """Return the members to ask now. `last`: no further result is expected before this."""
        ask: list[PlannedQuery] = []
        for failed in list(self._failed):
            if self.responsive or (failed.refused and not self._begun):
                self._failed.remove(failed)
                ask += self._take_apart(failed)
        if self._failed and not (self._first or self._begun) and self._left > 0:
            self._first = self._ask_first(self._failed[0])
            ask.append(self._first.member)
        elif last and not ask:
            self.end()
        return ask

    def end(self) -> None:
        """Give up all queries that were not taken apart."""
        for failed in self._failed:
            self._give_up(failed.members, failed)
        self._failed.clear()

    def _give_up(self, members: Sequence[PlannedQuery], failed: _Failed) -> None:
        self.given_up += [(each, failed.error) for each in members]

    def _take_apart(self, failed: _Failed) -> Sequence[PlannedQuery]:
        """Return the members to ask alone, as far as the limit allows, first those that were unanswered longest."""
        self._begun = True
        answered = len(self._rank)
        members = sorted(
            failed.members, key=lambda each: min(self._rank.get(question, answered) for question in each.questions)
        )
        if failed.error.outcome.costly or not self.responsive:
            most = max(self._left, 0)
            self._give_up(members[most:], failed)
            members = members[:most]
            self._left -= len(members)
        return members

    def _ask_first(self, failed: _Failed) -> _First:
        """Ask the first member. If it was late in an earlier cycle, ask another one: it may be the cause."""
        self._left -= 1
        at = int(_SPREAD * self._turn * len(failed.members)) % len(failed.members)
        return _First(failed.members.pop(at), failed)
