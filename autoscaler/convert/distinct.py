"""Gives imported autoscalers names and targets that differ, because a configuration has one autoscaler for each."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from autoscaler.config.settings import Settings
from autoscaler.convert.blocks import AutoscalerBlock
from autoscaler.convert.imported import Imported
from autoscaler.model import TargetRef
from autoscaler.target.scaled import Scaled, identify


def with_own_names(found: Sequence[Imported]) -> Sequence[Imported]:
    """Return each with its namespace before its name, or its target's, if another namespace has the same one."""
    return _named(_apart(found))


class Taken:
    """The names and targets of the configuration's autoscalers, and of those that were imported before."""

    def __init__(self, settings: Settings | None) -> None:
        """`settings`: None if there is no configuration, or it does not load."""
        self._names, self._targets = dict[str, str](), dict[Scaled, str]()
        self._scaled = identify({}) if settings is None else settings.identify()
        if settings is not None:
            for each in settings.autoscalers:
                self._names[each.name] = f"an autoscaler in {settings.path}; give this one another"
                self._targets[self._scaled(each.target)] = f"{each.name} in {settings.path}; change that one"

    def take(self, block: AutoscalerBlock, place: str) -> str | None:
        """Take the autoscaler's name and target. Returns why it cannot have one of them; None: they are its own now."""
        target = self._scaled(block.ref)
        if target in self._targets:
            return f"its target {block.ref} is already scaled by {self._targets[target]}"
        if block.name in self._names:
            return f"its name is already that of {self._names[block.name]}"
        self._names[block.name] = f"the one at {place}; rename one of them"
        self._targets[target] = f"{block.name} at {place}; remove one of them"
        return None


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
