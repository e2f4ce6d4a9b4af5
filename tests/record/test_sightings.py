"""When instances were first seen, where the back end does not say."""

from collections.abc import Mapping

from autoscaler.model import Observed, Sighting, Sightings, TargetRef
from autoscaler.record import Ledger
from tests.record.conftest import Opener
from tests.record.samples import FLEET, at, decision, save, scaler

WEB, API = TargetRef(FLEET, "web"), TargetRef(FLEET, "api", namespace="default")
FIRST = {"task-1": Sighting(at(0), True, at(0))}


def see(ledger: Ledger, sightings: Mapping[TargetRef, Sightings]) -> None:
    """A cycle that saw these, and decided nothing."""
    ledger.recall([])
    ledger.record({}, Observed({}, sightings), [])


def test_sightings_survive_a_restart(opener: Opener) -> None:
    """Else every restart makes old instances young, and HPA passes over the cpu of young ones."""
    known = {
        WEB: {"task-1": Sighting(at(0), None, at(0))},
        API: {"task-2": Sighting(at(0), True, at(7.5)), "task-3": Sighting(at(0), True, at(9), at(3))},
    }
    ledger = opener.ledger()
    assert ledger.sightings([WEB, API]) == {}
    see(ledger, known)
    assert ledger.sightings([WEB, API]) == known
    assert opener.restart().sightings([WEB, API]) == known


def test_saving_one_target_leaves_the_others(opener: Opener) -> None:
    """What has disappeared from a target is forgotten; other shards save other targets at the same time."""
    second = {"task-2": Sighting(at(5), False, at(5))}
    ledger = opener.ledger()
    see(ledger, {WEB: FIRST, API: FIRST})
    see(ledger, {WEB: second})
    assert opener.restart().sightings([WEB, API]) == {WEB: second, API: FIRST}


def test_sightings_are_committed_with_the_decisions_made_from_them(opener: Opener) -> None:
    """One commit for a cycle that changes no size."""
    ledger = opener.ledger()
    ledger.recall([scaler()])
    save(ledger, decision(), sightings=FIRST)
    ledger = opener.restart()
    assert ledger.sightings([scaler().target]) == {scaler().target: FIRST}
    assert ledger.recall([scaler()])["web"].at == at(0)


def test_sightings_of_a_target_that_left_and_came_back_are_known(opener: Opener) -> None:
    """A slip in the file must not make its instances young."""
    ledger = opener.ledger()
    web, api = scaler("web", "web"), scaler("api", "api")
    ledger.follow([web, api])
    see(ledger, {web.target: FIRST, api.target: FIRST})
    ledger.follow([web])
    assert ledger.sightings([web.target]) == {web.target: FIRST}
    ledger.follow([web, api])
    assert ledger.sightings([api.target]) == {api.target: FIRST}
