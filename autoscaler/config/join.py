"""Joins autoscalers from outside the main file with those in it.

A name and a target have one autoscaler. The main file's comes first, then those of the sets in their order.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from autoscaler.config.grants import queries_of
from autoscaler.config.new_names import Admit, admit_all
from autoscaler.config.outside import MAX_VALUES, TOO_MANY, Granted
from autoscaler.config.settings import Settings
from autoscaler.errors import Problem
from autoscaler.model import Autoscaler
from autoscaler.target.scaled import Scaled


class OutsideSet(NamedTuple):
    """Autoscalers that were read together, such as those in a file."""

    grant: str
    """The grant's name."""
    file: str
    """Where they come from, for messages."""
    granted: Sequence[Granted]


def join(settings: Settings, sets: Sequence[OutsideSet], admit: Admit = admit_all) -> Settings:
    """Return the settings with the autoscalers of these sets, and with why others are not served.

    `settings`: the main file's, or those that an earlier call returned. `admit`: limits new names.
    """
    names: dict[str, str] = {scaler.name: str(settings.path) for scaler in settings.autoscalers}
    scaled = settings.identify()
    targets: dict[Scaled, str] = {scaled(scaler.target): scaler.name for scaler in settings.autoscalers}
    queries: dict[str, set[tuple[str, str, bool]]] = {}
    owners = dict(settings.owners)
    accepted: list[Autoscaler] = []
    refused: dict[str, list[Problem]] = {}
    values = Counter[str]()
    for scaler in settings.autoscalers:
        if (owner := owners.get(scaler.name)) is not None:
            names[scaler.name] = f"the grant {owner}"
            queries.setdefault(owner, set()).update(queries_of(scaler))
    for name, file, granted in sets:
        grant, used = settings.grants[name], queries.setdefault(name, set())
        for one in granted:
            scaler, what = one.scaler, scaled(one.scaler.target)
            if scaler.name in names:
                message = f"{scaler.name} is already the name of an autoscaler in {names[scaler.name]}; rename one"
            elif what in targets:
                message = f"{one.target} is already scaled by {targets[what]}; remove one of the two"
            elif not one.queries <= used and len(used | one.queries) > grant.max_queries:
                message = f"its queries go beyond the grant's maxQueries {grant.max_queries}; remove or share some"
            elif values[name] + one.values > MAX_VALUES:
                message = TOO_MANY
            elif not admit(name, grant.new_names, scaler.name):
                message = (
                    f"the grant has brought {grant.new_names} new names within an hour, and may bring no more (its "
                    "maxQueries, at least 100); this one is served when an hour has passed for another; keep names"
                )
            else:
                names[scaler.name], targets[what], owners[scaler.name] = file, scaler.name, name
                used |= one.queries
                values[name] += one.values
                accepted.append(scaler)
                continue
            refused.setdefault(name, []).append(Problem(file, one.line, one.column, scaler.name, message))
    return replace(
        settings,
        autoscalers=(*settings.autoscalers, *accepted),
        owners=owners,
        refused=merged(settings.refused, refused),
    )


def merged(*problems: Mapping[str, Sequence[Problem]]) -> Mapping[str, tuple[Problem, ...]]:
    """Return the problems of each grant together."""
    found: dict[str, tuple[Problem, ...]] = {}
    for each in problems:
        for name, some in each.items():
            found[name] = (*found.get(name, ()), *some)
    return found
