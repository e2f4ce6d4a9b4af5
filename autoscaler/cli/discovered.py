"""`autoscaler get --discovered`: one row for each file of a team and each policy that was discovered."""

from collections.abc import Iterator, Sequence
from typing import Final

from autoscaler.layout import NONE, Screen, Table
from autoscaler.text import listed
from autoscaler.view.discovered import DiscoveredFile, DiscoveredList, DiscoveredPolicy

_HEADER: Final = ("ORIGIN", "AUTOSCALER", "STATE", "WHY")
_SHOWN: Final = 3
"""Autoscalers of a file."""


def discovered_rows(found: DiscoveredList, screen: Screen, *, wide: bool, header: bool) -> Sequence[str]:
    """Return the table, in lines. `wide`: also with where autoscalers scale differently."""
    files = [_row(each.file, each.autoscalers, each, wide=wide) for each in found.files]
    policies = [_row(each.target, [*filter(None, [each.autoscaler])], each, wide=wide) for each in found.policies]
    lines = Table(_HEADER, screen).lines([*files, *policies])
    return lines if header else lines[1:]


def discovery_notes(found: DiscoveredList) -> Iterator[str]:
    """Yield the failures, and the connections that have not answered yet."""
    for each in found.connections:
        if each.at is None and not each.failures:
            yield f"connection {each.name}: its autoscalers are not read yet"
        for failure in each.failures:
            yield f"connection {each.name}: {failure}"


def _row(origin: str, names: Sequence[str], each: DiscoveredFile | DiscoveredPolicy, *, wide: bool) -> tuple[str, ...]:
    state = "dry run" if each.dry_run else "scaled" if names else "refused" if each.refused else "empty"
    why = each.refused or ("; ".join(each.differences) if wide else "")
    return origin, listed(names, _SHOWN) if names else NONE, state, why
