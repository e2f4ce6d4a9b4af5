"""Gives imported autoscalers names and targets that differ, because a configuration has one autoscaler for each."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from autoscaler.convert.imported import Imported
from autoscaler.model import TargetRef


def with_own_names(found: Sequence[Imported]) -> Sequence[Imported]:
    """Return each with its namespace before its name, or its target's, if another namespace has the same one."""
    return _named(_apart(found))


def distinct(found: Sequence[Imported]) -> tuple[Sequence[Imported], Sequence[str]]:
    """Return those that have a name and a target of their own, and the problems of the others."""
    first: dict[str, Imported] = {}
    targets: dict[TargetRef, Imported] = {}
    refused = []
    for each in found:
        name, target = each.block.name, each.block.ref
        if each.parts and "/" in each.parts[-1]:
            message = f"{target.name} would be read as another job and group; rename the group {each.parts[-1]}"
        elif name in first:
            message = f"{name} is already the name of the one at {first[name].place}; rename one of them"
        elif target in targets:
            other = targets[target]
            message = f"{target.name} is already the target of {other.block.name} at {other.place}; remove one of them"
        else:
            first[name] = targets[target] = each
            continue
        refused.append(f"{each.place}: {message}")
    return list(first.values()), refused


def _named(found: Sequence[Imported]) -> Sequence[Imported]:
    namespaces = defaultdict[str, list[str]](list)
    for each in found:
        namespaces[each.block.name].append(each.namespace)
    return [
        each if len(namespaces[each.block.name]) == 1 else each.renamed(f"{each.namespace}-{each.block.name}")
        for each in found
    ]


def _apart(found: Sequence[Imported]) -> Sequence[Imported]:
    namespaces = defaultdict[TargetRef, set[str]](set)
    for each in found:
        namespaces[each.block.ref].add(each.namespace)
    apart = []
    for each in found:
        if len(namespaces[each.block.ref]) == 1:
            apart.append(each)
            continue
        name = f"{each.namespace}-{each.block.target}"
        others = ", ".join(sorted(namespaces[each.block.ref] - {each.namespace}))
        guess = f"scaleTargetRef.name {name} is a guess, because {others} has a target of the same name; write its name"
        apart.append(replace(each, block=replace(each.block, target=name), todo=[*each.todo, guess]))
    return apart
