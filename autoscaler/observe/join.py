"""Matches samples to instances."""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from heapq import nsmallest
from ipaddress import IPv6Address
from typing import Final, NamedTuple

from autoscaler.fields.kept_labels import instance_labels
from autoscaler.model import Instance
from autoscaler.observe.result import Point
from autoscaler.text import plain

_ADDRESS: Final = re.compile(r"(?:\[(?P<v6>[^\]]+)\]|(?P<host>[^:\[\]]+))(?::(?P<port>\d+))?")
CONTAINER_LABELS: Final = ("task", "container")
"""Default labels that name a container or task of an instance."""
_MAX_NAMED: Final = 20
"""Most unmatched samples listed. A shared query may return a whole fleet's."""
_MAX_COMPARED: Final = 1000
"""Most samples without an instance label that are compared to list the first in order."""
_MAX_VALUE: Final = 200
"""Characters of a label value that distinguish unmatched samples, and bytes of it that are shown."""


class Joined(NamedTuple):
    """Points by instance."""

    points: Mapping[str, Sequence[Point]]
    """Instance name -> its points. The caller handles more than one."""
    unmatched: tuple[str, ...]
    """The first points that match no instance or several, as `label="value"`."""
    more_unmatched: int
    """Number of further unmatched points."""
    nameless: str | None = None
    """An example if no point carries a label that could name an instance; None if some do."""


def of_container(points: Iterable[Point], container: str, label: str | None) -> Sequence[Point]:
    """Return the points of one container or task."""
    labels = (label,) if label else CONTAINER_LABELS
    return [point for point in points if first_label(point.labels, labels)[1] == container]


def join(points: Iterable[Point], instances: Iterable[Instance], label: str | None) -> Joined:
    """Match every point to its instance by identity: by the label's value, then by the address that this is."""
    instances = list(instances)
    owners = _owners(instances)
    by_address: Mapping[tuple[str, str | None], str] | None = None
    found: dict[str, list[Point]] = {}
    unmatched_labels: set[tuple[str, str]] = set()
    nameless: list[Point] = []
    labels = instance_labels(label)
    for point in points:
        carried = point.labels
        for name in labels:  # inlines `first_label`, because a call for each of a million samples is slow
            if value := carried.get(name):
                break
        else:
            nameless.append(point)
            continue
        owner = owners.get(value)
        if owner is None:
            if by_address is None:  # most samples match exactly
                by_address = _by_address(instances)
            owner = _at(by_address, *address(value))
        if owner:
            mine = found.get(owner)
            if mine is None:
                found[owner] = [point]
            else:
                mine.append(point)
        else:
            unmatched_labels.add((name, value[:_MAX_VALUE]))
    if not unmatched_labels and not nameless:  # the usual case
        return Joined(found, (), 0)
    unmatched = [f'{name}="{plain(value, _MAX_VALUE)}"' for name, value in nsmallest(_MAX_NAMED, unmatched_labels)]
    texts = nsmallest(_MAX_NAMED - len(unmatched), map(str, nameless[:_MAX_COMPARED]))
    unmatched += [f"no {' or '.join(labels)}: {text}" for text in texts]
    none_named = texts[0] if texts and not found and not unmatched_labels else None
    return Joined(found, tuple(unmatched), len(unmatched_labels) + len(nameless) - len(unmatched), none_named)


def _owners(instances: Iterable[Instance]) -> Mapping[str, str]:
    """Return identity -> instance name, empty for an identity of two instances."""
    owners: dict[str, str] = {}
    for instance in instances:
        for identity in instance.identities:
            owners[identity] = "" if identity in owners else instance.name
    return owners


def first_label(labels: Mapping[str, str], names: Iterable[str]) -> tuple[str, str]:
    """Return name and value of the first of these labels that is set. In Prometheus an empty label is absent."""
    for name in names:
        value = labels.get(name)
        if value:
            return name, value
    return "", ""


def address(text: str) -> tuple[str, str]:
    """Return host and port of an address, or of a name; the port is empty where it has none.

    The host has lower case, and an IPv6 address its shortest form without brackets and zone.
    """
    found = _ADDRESS.fullmatch(text)
    host, port = (text, "") if found is None else (found["v6"] or found["host"], found["port"] or "")
    if ":" in host:
        with suppress(ValueError):
            host = str(IPv6Address(host.partition("%")[0]))
    return host.lower(), port


def _by_address(instances: Iterable[Instance]) -> Mapping[tuple[str, str | None], str]:
    """Return host and port of each identity -> instance name, empty for those of two instances.

    With None for the port: the instances of a host whose identities name a port.
    """
    owners: dict[tuple[str, str | None], str] = {}
    for instance in instances:
        addresses = {address(identity) for identity in instance.identities}
        for key in {*addresses, *((host, None) for host, port in addresses if port)}:
            owners[key] = "" if key in owners else instance.name
    return owners


def _at(owners: Mapping[tuple[str, str | None], str], host: str, port: str) -> str | None:
    """Return the instance at an address. Another port may be an exporter's of the host, or another instance's."""
    for key in ((host, port), (host, "" if port else None)):
        if (owner := owners.get(key)) is not None:
            return owner
    return None
