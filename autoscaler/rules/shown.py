"""What a rule shows: its own keys of the API's documents, and what it says of them on a terminal and on the page.

A rule lists its classes in `Rule.documents`. Each has keys with defaults that show nothing, as of an autoscaler without
the rule. A document has the keys of all rules, no two of which have the same (`autoscaler.view.parts`).
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple, Self

from autoscaler.document import Document, QueryDocument
from autoscaler.model import Query, TargetState


class Line(NamedTuple):
    """One line: a label and what belongs to it."""

    label: str
    text: str
    query: QueryDocument | None = None
    """Stands behind the text."""
    more: str = ""
    """Stands behind all that."""


class Remark(NamedTuple):
    """One thing that a rule does with the bounds or the size just now. Sentences end without a period."""

    line: Line
    now: str
    """A sentence in the present tense."""
    past: str
    """A sentence about the decision that is explained."""
    message: str = ""
    """What the decision itself says where it is the rule that limits it: then the remark is left out."""
    urgent: bool = False
    """Whether it stands before all others, as a notice."""

    def is_in(self, said: str | None) -> bool:
        """Return whether a text of the decision says it already. None: the decision says nothing."""
        return bool(said and self.message and self.message in said)


class Shown(Document):
    """A rule's own keys of a document."""

    def as_lines(self) -> Iterable[Line]:
        """Return what `describe` and the page show of them."""
        return ()


class ShownSettings(Shown):
    """Keys of an autoscaler's configuration."""

    @classmethod
    def of_rule(cls, rule: Any) -> Self:
        """Return the keys of a configured rule."""
        return cls()


class ShownMetric(Shown):
    """Keys of a metric's configuration."""

    @classmethod
    def of_metric(cls, rule: Any, place: int, document: Callable[[Query], QueryDocument]) -> Self:
        """Return the keys of a configured rule for the metric at this place.

        `document` returns the document of a query.
        """
        return cls()


class ShownMemory(Shown):
    """Keys of what a rule remembers after a decision: in the list, and where the decision is explained."""

    @classmethod
    def of_memory(cls, memory: Any) -> Self:
        """Return the keys of what a rule remembers."""
        return cls()

    def remarks(self) -> Iterable[Remark]:
        """Return what the commands and the page say of them."""
        return ()

    def logged(self) -> Mapping[str, object]:
        """Return the keys that they add to the decision's line of the log."""
        return {}


class ShownDetail(Shown):
    """Keys of what a rule found out about a target."""

    @classmethod
    def of_target(cls, rule: Any, memory: Any, state: TargetState | None, size: int | None) -> Self:
        """Return the keys of an autoscaler's target after a decision.

        `memory`: None if the rule remembers nothing. `state`, `size`: the target's; None: it could not be read, or its
        state is no longer known.
        """
        return cls()


class ShownInstance(Shown):
    """Keys of one instance."""

    @classmethod
    def of_memory(cls, memory: Any) -> Mapping[str, Self]:
        """Return instance's name -> its keys, for the instances of which the rule remembers something."""
        return {}

    def words(self, now: datetime) -> str:
        """Return the text beside the instance; empty: none."""
        return ""
