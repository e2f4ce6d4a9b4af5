"""What is shown of the origins of autoscalers outside the main file."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from autoscaler.config.origins import Origin, Origins
from autoscaler.config.teams import is_file
from autoscaler.errors import Problem
from autoscaler.text import plain
from autoscaler.view.discovered import DiscoveredFile, DiscoveredList, DiscoveredPolicy, DiscoveringConnection

_MAX_SHOWN: Final = 20
"""Failures of a connection, and reasons of an origin, that are listed."""
_FIRST_LINE: Final = re.compile(r"^1:\d+: ")


def discovered_list(origins: Origins | None, unserved: Mapping[str, Sequence[Problem]]) -> DiscoveredList:
    """Return all origins, without the connections. `unserved`: as that of `Origins`."""
    problems = {} if origins is None else origins.problems
    files: list[DiscoveredFile] = []
    policies: list[DiscoveredPolicy] = []
    for key, each in () if origins is None else origins.table.items():
        row = _row(each, unserved.get(each.newest.place, ()))
        if is_file(key):
            of_folder = [problems[name].message for name in ("", each.newest.team) if name in problems]
            row["refused"] = plain("; ".join([*of_folder, *filter(None, [row["refused"]])])) or None
            files.append(DiscoveredFile(file=plain(each.newest.place), grant=each.newest.team, **row))
        else:
            row["autoscaler"] = next(iter(row.pop("autoscalers")), None)
            policies.append(DiscoveredPolicy(target=each.newest.place, **row))
    return DiscoveredList(
        files=tuple(sorted(files, key=lambda each: each.file)),
        policies=tuple(sorted(policies, key=lambda each: each.target)),
    )


def connection_row(
    name: str, at: datetime | None, failures: Mapping[str, str], policies: Sequence[DiscoveredPolicy]
) -> DiscoveringConnection:
    """Return the row of a connection, with the numbers of its policies. `failures`: place -> why nothing new is known.

    A failure of the whole connection has its name, which is not repeated.
    """
    texts = [why if where == name else f"{where}: {why}" for where, why in failures.items()]
    mine = [each for each in policies if each.target.startswith(f"{name}/")]
    return DiscoveringConnection(
        name=name,
        at=at,
        found=len(mine),
        refused=sum(each.refused is not None for each in mine),
        failing=len(texts),
        failures=tuple([plain(each) for each in texts[:_MAX_SHOWN]]),
    )


def _row(origin: Origin[Any], unserved: Sequence[Problem]) -> dict[str, Any]:
    refused = {each.path for each in unserved}
    served = [each for each in origin.granted if each.scaler.name not in refused]
    notes = () if origin.reading is None else origin.reading.notes
    reasons = [each.message for each in unserved] + [_sentence(each, origin.newest.place) for each in origin.problems]
    if not served and not reasons:
        reasons, notes = [*notes], ()
    return {
        "autoscalers": tuple([each.scaler.name for each in served]),
        "dry_run": bool(served) and all(each.scaler.dry_run for each in served),
        "refused": plain("; ".join(reasons[:_MAX_SHOWN])) or None,
        "differences": tuple(map(plain, [*notes, *filter(None, [each.capped for each in served])])) if served else (),
    }


def _sentence(problem: Problem, place: str) -> str:
    """Return what is wrong with an origin, without the place that its row has.

    A place in the first line is left out: the text of a converted policy has one line, which its author never sees.
    """
    text = _FIRST_LINE.sub("", str(problem).removeprefix(f"{place}:"))
    return text.replace("autoscalers[0].", "", 1)
