import pytest

from autoscaler.errors import StateError
from autoscaler.model import TargetRef
from autoscaler.observe import Sighting, Sightings
from tests.record.conftest import Opener
from tests.record.samples import at

WEB, API = TargetRef("swarm", "web"), TargetRef("swarm", "api", namespace="default")


def test_sightings_survive_a_restart(opener: Opener) -> None:
    """Else every restart makes old instances young, and HPA passes over the cpu of young ones."""
    known = {WEB: {"task-1": Sighting(at(0), None, at(0))}, API: {"task-2": Sighting(at(0), True, at(7.5))}}
    sightings: Sightings = opener.store().sightings(Sighting)
    assert sightings.load([WEB, API]) == {}
    sightings.save(known)
    assert sightings.load([WEB, API]) == known
    opener.close()
    assert opener.store().sightings(Sighting).load([WEB, API]) == known


def test_saving_one_target_leaves_the_others(opener: Opener) -> None:
    """What has disappeared from a target is forgotten; other lanes save other targets at the same time."""
    first, second = {"task-1": Sighting(at(0), True, at(0))}, {"task-2": Sighting(at(5), False, at(5))}
    sightings = opener.store().sightings(Sighting)
    sightings.save({WEB: first, API: first})
    sightings.save({WEB: second})
    opener.close()
    assert opener.store().sightings(Sighting).load([WEB, API]) == {WEB: second, API: first}


def test_sightings_that_could_not_be_saved_are_not_known(sqlite_opener: Opener) -> None:
    """Memory says what the disk says, or a restart would make the instance younger than it was."""
    store = sqlite_opener.store()
    sightings = store.sightings(Sighting)
    assert sightings.load([WEB]) == {}
    with store._engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA query_only = ON")
    with pytest.raises(StateError, match="read-only"):
        sightings.save({WEB: {"task-1": Sighting(at(0), True, at(0))}})
    assert sightings.load([WEB]) == {}
