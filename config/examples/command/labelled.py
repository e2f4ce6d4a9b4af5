"""Groups that a cloud does not know: a group is no more than the machines with its label.

Install this file in the folder of the programs, with answering.py.
"""

import json
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from answering import Failed, answer


@dataclass
class Machine:
    id: str
    instance: dict  # as the daemon gets it
    created: str  # sorts machines by age
    kept: bool = False  # it cannot be deleted at present
    stopped: bool = False  # it does not count; a scale-out starts it before it creates another


def options(group):
    """Return the words with which the tool creates a machine of the group, from the file in the command line."""
    with open(sys.argv[2]) as file:
        groups = json.load(file)
    if group not in groups:
        raise Failed(f"{sys.argv[2]} has no group {group}; add it, with the options that create a machine", "NotFound")
    return groups[group]


def answer_for_groups(errors, machines, create, delete, start=None, parallel=8):
    """Answer the request. `machines(group)` lists the machines; `create(group, name)`, `delete` and `start` change one.

    `start` is for a cloud with stopped machines. `parallel`: how many are changed at once.
    """

    def state(target):
        found = machines(target["name"])
        counted = [one.instance for one in found if not one.stopped]
        warnings = [f"{one.instance['name']} is stopped; the next scale-out starts it" for one in found if one.stopped]
        return {"replicas": len(counted), "instances": counted, "warnings": warnings}

    def resize(target, change):
        group, found = target["name"], machines(target["name"])
        counted = [one for one in found if not one.stopped]
        missing = change["size"] - len(counted)
        free = sorted_to_leave([one for one in counted if not one.kept], change["victims"])
        if len(free) < -missing:
            kept = f"{len(counted) - len(free)} of {len(counted)} machines are protected, locked or out of reach"
            return {"outcome": "Held", "message": kept}
        starting = [one for one in found if one.stopped][: max(0, missing)]
        new = [f"{group}-{int(time.time()):x}{uuid.uuid4().hex[:4]}" for _ in range(missing - len(starting))]
        with ThreadPoolExecutor(parallel) as threads:
            list(threads.map(start, starting))
            list(threads.map(lambda name: create(group, name), new))
            list(threads.map(delete, free[: max(0, -missing)]))
        return {"outcome": "Written"}

    answer(errors, state, resize)


def sorted_to_leave(found, victims):
    """Return the victims first, then those that do not run, then the newest."""
    newest_first = sorted(found, key=lambda one: one.created, reverse=True)

    def rank(one):
        name = one.instance["name"]
        return victims.index(name) if name in victims else len(victims), one.instance["phase"] == "Running"

    return sorted(newest_first, key=rank)
