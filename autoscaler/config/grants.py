"""Grants: what autoscalers from outside the main file may have, such as those in a team's folder.

`outside.py` reads such autoscalers under a grant. A value that a grant does not give is refused, except for numbers of
replicas, which the grant's ceiling caps: a lower ceiling must not stop what scales.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Final

from autoscaler import model
from autoscaler.fields.find_values import Loc
from autoscaler.fields.part import Part
from autoscaler.fields.types import AdapterName, Count, CountOrZero, LabelKey, LabelValue, SourceName, Text, matching
from autoscaler.text import listed

_LEAST_NEW_NAMES: Final = 100
"""In an hour, for autoscalers that share a few queries."""
_SHOWN: Final = 5
"""Names in a message."""


Prefix = Annotated[
    str,
    matching(
        r"[a-z0-9][-.a-z0-9]{0,62}",
        "is not the beginning of a name; use at most 63 lower-case letters, digits, `-` and `.`, as in shop-",
    ),
]
Pattern = Annotated[
    Text,
    matching(r"[^*]*\*?", "has a `*` before its end; write a whole name, or a beginning as in shop-*"),
]
"""A name, or the beginning of names with `*` after it."""


@dataclass(frozen=True, slots=True)
class Grant(Part):
    """What a set of autoscalers from outside the main file may have. What is not given is refused."""

    name_prefix: Prefix
    """How the names of the autoscalers begin. No grant's prefix begins with another's."""
    max_replicas: Count
    """The ceiling of every number of replicas; a higher one counts as this."""
    labels: Mapping[LabelKey, LabelValue] = field(default_factory=dict)
    """Labels that each autoscaler gets, in place of its own with these keys."""
    adapters: tuple[AdapterName, ...] = ()
    """The connections on which it may scale."""
    namespaces: tuple[Text, ...] = ()
    """The namespaces of targets, where a connection has namespaces."""
    targets: tuple[Pattern, ...] = ()
    """The targets' names; a `*` at the end stands for anything. No two grants include one target."""
    sources: tuple[SourceName, ...] = ()
    """The sources that may be queried. Each sees the data of this grant's owner alone, so no two grants share one."""
    max_queries: CountOrZero = 0
    """How many different queries a cycle may send for all its autoscalers."""
    operators: tuple[Text, ...] = ()
    """Users who may pause and override these autoscalers over TCP, and no others; see `web.operators`."""

    @property
    def new_names(self) -> int:
        """How many names it may bring in an hour that it did not have before."""
        return max(self.max_queries, _LEAST_NEW_NAMES)

    def includes(self, target: model.TargetRef) -> bool:
        """Return whether the grant includes a target, with the connection's defaults written out."""
        is_granted = target.adapter in self.adapters and (
            target.namespace is None or target.namespace in self.namespaces
        )
        return is_granted and any(matches(pattern, target.name) for pattern in self.targets)

    def refusals(self, scaler: model.Autoscaler, target: model.TargetRef) -> Iterator[tuple[Loc, str]]:
        """Yield what the grant does not give: its place in the autoscaler, and the message.

        `target`: its target with the connection's defaults written out.
        """
        if not scaler.name.startswith(self.name_prefix):
            yield ("name",), f"{scaler.name[:64]!r} does not begin with {self.name_prefix!r}, the grant's namePrefix"
        place, adapter = ("scaleTargetRef",), scaler.target.adapter
        if adapter not in self.adapters:
            yield (
                (*place, "adapter"),
                f"the grant does not include the connection {adapter[:64]!r}; {_of(self.adapters)}",
            )
        if target.namespace is not None and target.namespace not in self.namespaces:
            message = f"the grant does not include the namespace {target.namespace[:64]!r}; {_of(self.namespaces)}"
            yield (*place, "namespace"), message
        if scaler.target.region is not None:
            yield (*place, "region"), "a grant includes the connection's own region alone; remove it"
        if not any(matches(pattern, target.name) for pattern in self.targets):
            yield (*place, "name"), f"the grant does not include the target {target.name[:64]!r}; {_of(self.targets)}"
        for source in sorted({query.prometheus for query in scaler.queries}.difference(self.sources)):
            yield ("metrics",), f"the grant does not include the source {source[:64]!r}; {_of(self.sources)}"

    def restricted(self, scaler: model.Autoscaler) -> model.Autoscaler:
        """Return the autoscaler with the grant's labels, and with every number of replicas within its ceiling."""
        return replace(
            scaler,
            min_replicas=min(scaler.min_replicas, self.max_replicas),
            max_replicas=min(scaler.max_replicas, self.max_replicas),
            rules=model.Rules([rule.within(self.max_replicas) for rule in scaler.rules]),
            labels=tuple(sorted((dict(scaler.labels) | dict(self.labels)).items())),
        )


def queries_of(scaler: model.Autoscaler) -> frozenset[tuple[str, str, bool]]:
    """Return what counts towards `maxQueries`: source, expression, and whether its age is asked for, a second query."""
    return frozenset(
        (query.prometheus, query.expr, age)
        for query in scaler.queries
        for age in ((False,) if query.max_age is None else (False, True))
    )


def matches(pattern: str, name: str) -> bool:
    """Return whether a pattern of a grant includes a name."""
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


def _of(granted: Sequence[str]) -> str:
    return f"it includes {listed(granted, _SHOWN)}" if granted else "it includes none"
