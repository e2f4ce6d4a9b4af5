"""`autoscaler get --discovered`: one row for each policy that was discovered."""

from collections.abc import Iterator, Sequence
from typing import Final

from autoscaler.documents.discovered import DiscoveredList, DiscoveredPolicy
from autoscaler.layout import NONE, Screen, Table
from autoscaler.text import clean

_HEADER: Final = ("POLICY", "AUTOSCALER", "STATE", "WHY")


def discovered_rows(found: DiscoveredList, screen: Screen, *, wide: bool, header: bool) -> Sequence[str]:
    """Return the table, in lines. `wide`: also with where autoscalers scale differently."""
    lines = Table(_HEADER, screen).lines([_row(each, wide=wide) for each in found.policies])
    return lines if header else lines[1:]


def discovery_notes(found: DiscoveredList) -> Iterator[str]:
    """Yield the failures, and the connections that have not answered yet."""
    for each in found.connections:
        if each.at is None and not each.failures:
            yield f"connection {each.name}: its policies are not read yet"
        for failure in each.failures:
            yield f"connection {each.name}: {failure}"


def _row(policy: DiscoveredPolicy, *, wide: bool) -> tuple[str, ...]:
    state = "refused" if policy.autoscaler is None else "dry run" if policy.dry_run else "scaled"
    why = policy.refused or ("; ".join(policy.differences) if wide else "")
    return clean(policy.target), clean(policy.autoscaler or NONE), state, clean(why)
