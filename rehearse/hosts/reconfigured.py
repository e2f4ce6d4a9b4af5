"""Changes of the configuration that are rolled out to one host after another, and taken back in the same way.

Meanwhile two daemons may have the same target in their configurations under different names, and the leader changes.
What is remembered belongs to the target, so no window, policy or unfinished write may be forgotten.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from rehearse.hosts.audit import RENAMED_TO
from rehearse.hosts.host import wait_until
from rehearse.hosts.recorder import now_micros
from rehearse.hosts.scenarios import Scenario, Takeover, all_decided
from rehearse.hosts.world import World

RENAMED: Final = "connection and autoscalers renamed"
Change: TypeAlias = Callable[[dict[str, Any]], None]
"""A change of a configuration, in place."""


def rename(configuration: dict[str, Any]) -> None:
    """Rename the connection to AWS and all autoscalers, and write out the namespace of targets on Nomad."""
    adapters = configuration["adapters"]
    adapters["aws" + RENAMED_TO] = adapters.pop("aws")
    for scaler in configuration["autoscalers"]:
        scaler["name"] += RENAMED_TO
        ref = scaler["scaleTargetRef"]
        ref |= {"adapter": "aws" + RENAMED_TO} if ref["adapter"] == "aws" else {"namespace": "default"}


def _rolled_out(change: Change) -> Scenario:
    def scenario(world: World, run: int) -> Takeover | None:
        for each in (change, lambda _: None):
            hosts = world.chance.sample(list(world.hosts), len(world.hosts))
            for number, host in enumerate(hosts):
                host.reload(each)
                time.sleep(world.chance.uniform(0, world.lease_seconds))
                if number == 1:  # the leader may have the new configuration, and its successor the old one
                    world.leader().resign()
            world.wait_until_whole()
            wait_until(all_decided(world, now_micros()), "decisions of all after the roll-out")
        return None

    scenario.__doc__ = change.__doc__
    return scenario


RECONFIGURED: Final[Mapping[str, Scenario]] = {RENAMED: _rolled_out(rename)}
"""By the kind of change."""
