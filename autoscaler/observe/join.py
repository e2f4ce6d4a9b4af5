"""Which instance a sample belongs to."""

from collections.abc import Iterable, Mapping, Sequence
from heapq import nsmallest
from typing import Final, NamedTuple

from autoscaler.config.kept_labels import instance_labels
from autoscaler.model import Instance
from autoscaler.observe.result import Point
from autoscaler.text import plain

CONTAINER_LABELS: Final = ("task", "container")
"""The same for a container or task of an instance."""
_MOST_NAMED: Final = 20
"""Unmatched samples that are named one by one: a shared query may hold a whole fleet's."""
_MOST_COMPARED: Final = 1000
"""Samples without such a label, of which the first in order are named."""
_LONGEST_VALUE: Final = 200
"""Characters of a label's value that tell unmatched samples apart, and bytes that are shown of it."""


class Joined(NamedTuple):
    """Points by the instance they belong to."""

    points: Mapping[str, Sequence[Point]]
    """Instance name -> its points; more than one is for the caller to judge."""
    unmatched: tuple[str, ...]
    """Points that belong to no instance, or to more than one, the first of them as `label="value"`."""
    more_unmatched: int
    """How many more there are."""
    nameless: str | None = None
    """The first of the points, where none of them carries a label that could name an instance; None: some do."""


def of_container(points: Iterable[Point], container: str, label: str | None) -> Sequence[Point]:
    """The points of one container or task."""
    labels = (label,) if label else CONTAINER_LABELS
    return [point for point in points if first_label(point.labels, labels)[1] == container]


def join(points: Iterable[Point], instances: Iterable[Instance], label: str | None) -> Joined:
    """Every point with its instance, by identity: the label's value as it is, then without its `:port`."""
    owners = _owners(instances)
    found: dict[str, list[Point]] = {}
    strangers: set[tuple[str, str]] = set()
    nameless: list[Point] = []
    labels = instance_labels(label)
    for point in points:
        carried = point.labels
        for name in labels:  # as `first_label` does: a call for each of a million samples takes longer than looking
            if value := carried.get(name):
                break
        else:
            nameless.append(point)
            continue
        owner = owners.get(value)
        if owner is None:
            owner = owners.get(without_port(value))
        if owner:
            mine = found.get(owner)
            if mine is None:
                found[owner] = [point]
            else:
                mine.append(point)
        else:
            strangers.add((name, value[:_LONGEST_VALUE]))
    if not strangers and not nameless:  # as it should be
        return Joined(found, (), 0)
    unmatched = [f'{name}="{plain(value, _LONGEST_VALUE)}"' for name, value in nsmallest(_MOST_NAMED, strangers)]
    texts = nsmallest(_MOST_NAMED - len(unmatched), map(str, nameless[:_MOST_COMPARED]))
    unmatched += [f"no {' or '.join(labels)}: {text}" for text in texts]
    none_named = texts[0] if texts and not found and not strangers else None
    return Joined(found, tuple(unmatched), len(strangers) + len(nameless) - len(unmatched), none_named)


def _owners(instances: Iterable[Instance]) -> Mapping[str, str]:
    """Identity -> the instance's name; empty where two instances have the same."""
    owners: dict[str, str] = {}
    for instance in instances:
        for identity in instance.identities:
            owners[identity] = "" if identity in owners else instance.name
    return owners


def first_label(labels: Mapping[str, str], names: Iterable[str]) -> tuple[str, str]:
    """Name and value of the first of these labels that is there; Prometheus takes an empty one for absent."""
    for name in names:
        value = labels.get(name)
        if value:
            return name, value
    return "", ""


def without_port(address: str) -> str:
    """The host of `host:port` or `[v6]:port`; other texts as they are."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal():
        return address
    if host.startswith("[") and host.endswith("]"):
        return host[1:-1]
    return address if ":" in host else host
