"""The state remembers when instances were first seen, for back ends that do not report it."""

from collections.abc import Mapping

from autoscaler.model import Observed, Sighting, Sightings, TargetRef
from autoscaler.record.ledger import Ledger
from tests.record.conftest import Opener, each_database
from tests.record.samples import FLEET, at

WEB, API = TargetRef(FLEET, "web"), TargetRef(FLEET, "api", namespace="default")
FIRST = {"task-1": Sighting(at(0), True, at(0))}


def see(ledger: Ledger, sightings: Mapping[TargetRef, Sightings]) -> None:
    """Run a cycle that saw these instances and decided nothing."""
    ledger.recall([])
    ledger.record({}, Observed({}, sightings), [])


@each_database
def test_sightings_survive_a_restart(opener: Opener) -> None:
    """Otherwise every restart would make old instances young, and HPA ignores the cpu of young instances."""
    known = {
        WEB: {"task-1": Sighting(at(0), None, at(0))},
        API: {"task-2": Sighting(at(0), True, at(7.5)), "task-3": Sighting(at(0), True, at(9), at(3))},
    }
    ledger = opener.ledger()
    assert ledger.sightings([WEB, API]) == {}
    see(ledger, known)
    assert ledger.sightings([WEB, API]) == known
    assert opener.restart().sightings([WEB, API]) == known


def test_saving_one_target_does_not_change_the_others(opener: Opener) -> None:
    """Instances that disappear are forgotten, while other shards save other targets."""
    second = {"task-2": Sighting(at(5), False, at(5))}
    ledger = opener.ledger()
    see(ledger, {WEB: FIRST, API: FIRST})
    see(ledger, {WEB: second})
    assert opener.restart().sightings([WEB, API]) == {WEB: second, API: FIRST}
