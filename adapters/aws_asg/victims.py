"""Chooses which of the ranked instances leave, so that the group's zones stay balanced.

Otherwise AWS launches an instance in a zone that lost too many and ends one that was to stay. Source: Amazon EC2 Auto
Scaling User Guide, "Auto Scaling benefits for application architecture", rebalancing activities: instances that are
terminated explicitly can make a group unbalanced. AWS's own scale-in chooses zones by the same rule ("Default
termination policy").
"""

from collections import Counter
from collections.abc import Collection, Mapping

from adapters.aws.raw import Raw
from adapters.aws_asg.groups import suspended_processes, weight
from adapters.aws_asg.lifecycle import COUNTING, stage_of


def victims(group: Raw, ranked: Collection[str], units: int) -> Mapping[str, int]:
    """Return the instances to terminate of the `ranked` ones, best first -> weight, together at most `units`.

    Each is the best of the zones with the most units, while AWS balances zones. Instances that are protected from
    scale-in or no longer count are left out.
    """
    balances = "AZRebalance" not in suspended_processes(group)
    counting = {one["InstanceId"]: one for one in group["Instances"] if stage_of(one["LifecycleState"]) in COUNTING}
    weights = {name: weight(one) for name, one in counting.items()}
    zones = {name: one.get("AvailabilityZone", "") if balances else "" for name, one in counting.items()}
    in_zone = Counter[str]()
    for name, zone in zones.items():
        in_zone[zone] += weights[name]
    candidates: dict[str, list[tuple[int, str]]] = {}  # zone -> rank and name, the best last
    for rank, name in sorted(enumerate(ranked), reverse=True):
        if name in counting and not counting[name]["ProtectedFromScaleIn"]:
            candidates.setdefault(zones[name], []).append((rank, name))
    chosen: dict[str, int] = {}
    while True:
        for left in candidates.values():
            while left and weights[left[-1][1]] > units:  # it never fits again
                left.pop()
        best = min(((-in_zone[zone], left[-1]) for zone, left in candidates.items() if left), default=None)
        if best is None:
            return chosen
        _, (_, name) = best
        candidates[zones[name]].pop()
        chosen[name] = weights[name]
        units -= weights[name]
        in_zone[zones[name]] -= weights[name]
