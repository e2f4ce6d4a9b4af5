"""Rules about several parts of the file. They read plain values, so that they are checked beside other errors."""

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any, Final

from autoscaler.config.connections import Connections
from autoscaler.config.document import YamlDocument
from autoscaler.config.entries import Entries
from autoscaler.config.grants import Grant, matches
from autoscaler.config.problems import Problems
from autoscaler.errors import named
from autoscaler.fields.find_values import Loc
from autoscaler.model import TargetRef
from autoscaler.rules import RULES
from autoscaler.rules.rule import plain_metrics, wakes
from autoscaler.target.scaled import Scaled, identify

_OF_INSTANCES: Final = ("resource", "containerResource")
_TARGET_KEYS: Final = frozenset({"name", "namespace", "region"})


def check_autoscalers(raw: Any, connections: Connections, document: YamlDocument, problems: Problems) -> None:
    """Add a problem for each duplicate name or target, minimum of 0 without a way up, and impossible target."""
    names: dict[str, int] = {}
    targets: dict[Scaled, int] = {}
    scaled = identify({name: section.place for name, section in connections.sections.items()})
    for index, body in enumerate(raw if isinstance(raw, list) else ()):
        if not isinstance(body, dict):
            continue
        loc = ("autoscalers", index)
        name = body.get("name")
        if isinstance(name, str) and (first := names.setdefault(name, index)) != index:
            line = document.place(("autoscalers", first, "name"))[0]
            problems.add(
                (*loc, "name"), f"{name[:64]!r} is already the name of the autoscaler on line {line}; rename one"
            )
        if body.get("minReplicas") == 0 and not wakes(body):
            message = "0 needs an Object or External metric to scale up again; add one, or write 1"
            problems.add((*loc, "minReplicas"), message)
        for place, message in [each for kind in RULES for each in kind.plain_problems(body)]:
            problems.add((*loc, *place), message)
        for place, metric in plain_metrics(body):
            _check_metric(metric, body, (*loc, *place), connections, problems)
        target = _target(body.get("scaleTargetRef"))
        if target is None:
            continue
        _consult(target, body.get("maxReplicas"), loc, connections, problems)
        if (first := targets.setdefault(scaled(target), index)) != index:
            line = document.place(("autoscalers", first, "scaleTargetRef"))[0]
            message = f"{target} is already scaled by the autoscaler on line {line}; remove one of the two"
            problems.add((*loc, "scaleTargetRef", "name"), message)


def check_sharing(raw: Mapping[str, Any], shared: bool, connections: Connections, problems: Problems) -> None:
    """Add a problem for `ha` with an SQLite state, and for each connection that a shared state does not allow.

    `shared`: whether `state.url` names PostgreSQL.
    """
    if "ha" in raw and not shared:
        message = "an SQLite state has one daemon and no lease; remove ha, or write a PostgreSQL state.url"
        problems.add(("ha",), message, of_key=True)
    for name, section in connections.sections.items() if shared else ():
        kind = connections.types[name]
        if kind is not None and kind.one_host:
            message = (
                f"the targets of a connection of type {section.type!r} are on one machine, and daemons on several may "
                "share a PostgreSQL state; move the connection to a daemon of its own, with an SQLite state"
            )
            problems.add(("adapters", name, "type"), message)


def check_rules(entries: Entries, problems: Problems, hints: Problems | None = None) -> None:
    """Add the problems that the rules of each autoscaler find, and to `hints` what its author probably did not mean."""
    for number, body in entries.autoscalers.items():
        written = body.written(entries.queries, entries.schedules)
        for kind in RULES:
            for loc, message in kind.problems(written):
                problems.add(("autoscalers", number, *loc), message)
            if hints is not None:
                for loc, message in kind.hints(written):
                    hints.add(("autoscalers", number, *loc), message)


def _check_metric(
    metric: Mapping[str, Any], body: Mapping[str, Any], loc: Loc, connections: Connections, problems: Problems
) -> None:
    """Add an error for a Utilization target without a capacity."""
    target = metric.get("target")
    ref = body.get("scaleTargetRef")
    adapter = ref.get("adapter") if isinstance(ref, dict) else None
    kind = connections.types.get(adapter) if isinstance(adapter, str) else None
    no_request = kind is not None and kind.without_requests
    is_share = isinstance(target, dict) and target.get("type") == "Utilization"
    if is_share and metric.get("request") is None and loc[-1] in _OF_INSTANCES and no_request:
        message = (
            "is missing; Utilization is a share of it, and an instance of this adapter has no reservation of its own; "
            "add the capacity of one instance, or write a target of type AverageValue"
        )
        problems.add((*loc, "request"), message)


def _target(ref: Any) -> TargetRef | None:
    """The target that is named; None if it is wrong, which is reported elsewhere."""
    if not isinstance(ref, dict):
        return None
    adapter, name, namespace, region = (ref.get(key) for key in ("adapter", "name", "namespace", "region"))
    if not (isinstance(adapter, str) and isinstance(name, str) and name):
        return None
    if not (isinstance(namespace, str | None) and isinstance(region, str | None)):
        return None
    return TargetRef(adapter, name, namespace, region)


def _consult(target: TargetRef, maximum: Any, loc: Loc, connections: Connections, problems: Problems) -> None:
    """Adds what the adapter finds wrong with a target, and with its largest size."""
    kind, section = connections.types.get(target.adapter), connections.sections.get(target.adapter)
    if kind is None or section is None:
        return

    def target_problem() -> str | None:
        wrong = kind.target_problem(target, section.settings)
        kind.canonical(target, section.settings)
        kind.place(section.settings)
        return wrong

    if (wrong := _answer(section.type, target_problem)) is not None:
        key, _, message = wrong.partition(": ")
        if key not in _TARGET_KEYS:  # it says what is wrong, and not where
            key, message = "name", wrong
        problems.add((*loc, "scaleTargetRef", key), message)
    if type(maximum) is int:
        wrong = _answer(section.type, lambda: kind.size_problem(target, maximum, section.settings))
        if wrong is not None:
            problems.add((*loc, "maxReplicas"), wrong)


def _answer(adapter: str, check: Callable[[], str | None]) -> str | None:
    """Return what an adapter finds wrong, or that its check failed."""
    try:
        return check()
    except Exception as error:  # noqa: BLE001 - an adapter is foreign code: what it raises is named
        return f"adapter {adapter!r} failed to check it: {named(error)}; report it"


def check_grants(grants: Mapping[str, Grant], connections: Connections, problems: Problems) -> None:
    """Add the pairs of grants that could reach into each other: prefixes, sources and targets that overlap."""
    for (first, one), (second, other) in combinations(grants.items(), 2):
        loc = ("grants", second)
        if one.name_prefix.startswith(other.name_prefix) or other.name_prefix.startswith(one.name_prefix):
            message = (
                f"{other.name_prefix!r} and {one.name_prefix!r} of {first} begin alike; choose prefixes that differ"
            )
            problems.add((*loc, "namePrefix"), message)
        for source in sorted({*one.sources} & {*other.sources}):
            message = (
                f"{source[:64]!r} is also granted to {first}; give each a source whose credential sees its data alone"
            )
            problems.add((*loc, "sources"), message)
        for adapter in sorted({*one.adapters} & {*other.adapters}):
            pattern = _overlap(one, other, named=_has_namespaces(connections, adapter))
            if pattern is not None:
                message = f"{pattern[:64]!r} on {adapter} is also granted to {first}; grant each target once"
                problems.add((*loc, "targets"), message)


def check_discover(grants: Mapping[str, Grant], connections: Connections, problems: Problems) -> None:
    """Add the connections that discover autoscalers although no target of theirs is granted."""
    for name, section in connections.sections.items():
        named = _has_namespaces(connections, name)
        is_granted = any(name in grant.adapters and (grant.namespaces or not named) for grant in grants.values())
        if section.discover is not None and not is_granted:
            what = "a namespace of the connection" if named else "the connection"
            message = f"discovers nothing, because no grant includes {what}; add one to grants"
            problems.add(("adapters", name, "discover"), message)


def _overlap(one: Grant, other: Grant, *, named: bool) -> str | None:
    """Return a pattern of `other` that also includes targets of `one`; None: there is none.

    `named`: targets have namespaces.
    """
    if named and not {*one.namespaces} & {*other.namespaces}:
        return None
    return next((mine for mine in other.targets for its in one.targets if _meet(mine, its)), None)


def _meet(one: str, other: str) -> bool:
    """Return whether a name can match both patterns."""
    if one.endswith("*") and other.endswith("*"):
        return one[:-1].startswith(other[:-1]) or other[:-1].startswith(one[:-1])
    return matches(one, other) if one.endswith("*") else matches(other, one)


def _has_namespaces(connections: Connections, adapter: str) -> bool:
    kind = connections.types.get(adapter)
    return kind is not None and "namespace" in kind.target_keys
