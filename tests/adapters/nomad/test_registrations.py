"""Which registration set a count, on a real agent: what Nomad's own records tell of it."""

import time
from typing import Any

import pytest

from autoscaler.model import Deployment, TargetState, Written
from tests.adapters.nomad.conftest import LiveAdapter
from tests.servers.faults import Faults
from tests.servers.nomad import NomadServer, deployed, service, unplaced

pytestmark = pytest.mark.slow


def judged(direct: LiveAdapter, job: str) -> TargetState:
    """The state in the second cycle after a change: the scaling event of a change is a later write."""
    direct.state(f"{job}/work")
    state = direct.state(f"{job}/work")
    assert state.deployment is None or state.deployment.certain
    return state


def scaled(direct: LiveAdapter, nomad: NomadServer, job: str, **further: Any) -> None:
    """Register a job of one instance, which the adapter scales to three."""
    nomad.register(unplaced(job, **further))
    state = judged(direct, job)
    assert deployment(state).before == 0
    assert direct.scale(f"{job}/work", state, 3) == Written(3)
    assert judged(direct, job).deployment is None


def deployment(state: TargetState) -> Deployment:
    assert state.deployment is not None
    return state.deployment


def test_a_registration_that_resets_the_count_is_told_from_scaling(direct: LiveAdapter, nomad: NomadServer) -> None:
    """Also where a message was recorded, which is a scaling event without a count."""
    scaled(direct, nomad, "reset")
    nomad.register(unplaced("reset", command="exec sleep 3601"))
    nomad.ask("POST", "/v1/job/reset/scale", {"Target": {"Group": "work"}, "Message": "a note"})
    assert "from 3 to 1" in direct.state("reset/work").reset_by  # `check --live` reads once
    state = judged(direct, "reset")
    found = deployment(state)
    assert (state.replicas, found.before, found.rollback) == (1, 3, False)
    assert "-preserve-counts" in found.remedy
    assert "from 3 to 1" in state.reset_by
    nomad.scale("reset", "work", 2)
    assert judged(direct, "reset").deployment is None
    nomad.register(unplaced("reset", command="exec sleep 3602"))
    again = deployment(judged(direct, "reset"))
    assert (again.before, again.id != found.id) == (2, True)


def test_a_registration_is_recognized_after_a_restart(direct: LiveAdapter, connect: Any, nomad: NomadServer) -> None:
    scaled(direct, nomad, "restarted")
    nomad.register(unplaced("restarted", command="exec sleep 3601"))
    assert deployment(judged(connect(address=nomad.url), "restarted")).before == 3


def test_a_registration_that_preserves_the_count_has_it_before_and_after(
    direct: LiveAdapter, nomad: NomadServer
) -> None:
    scaled(direct, nomad, "preserved")
    job = unplaced("preserved", command="exec sleep 3601")
    nomad.ask("POST", "/v1/jobs", {"Job": job, "PreserveCounts": True})
    state = judged(direct, "preserved")
    assert (state.replicas, deployment(state).before) == (3, 3)


def test_the_same_file_once_more_is_no_rollback(direct: LiveAdapter, nomad: NomadServer) -> None:
    """A pipeline that runs again without a change resets the count as well."""
    scaled(direct, nomad, "again")
    for _ in range(2):
        nomad.register(unplaced("again"))
        state = judged(direct, "again")
        assert (state.replicas, deployment(state).before, deployment(state).rollback) == (1, 3, False)
        assert direct.scale("again/work", state, 3) == Written(3)


def test_an_automatic_revert_is_a_rollback(direct: LiveAdapter, nomad: NomadServer) -> None:
    """It returns to the last stable version, with the count that this one had."""
    update = deployed(AutoRevert=True, ProgressDeadline=0)  # the first allocation that fails ends the deployment
    nomad.register(service("automatic", Update=update))
    nomad.wait(lambda: nomad.ask("GET", "/v1/job/automatic")["Stable"], "stable version")
    nomad.register(service("automatic", command="exit 1", count=2, Update=update))
    nomad.wait(lambda: nomad.ask("GET", "/v1/job/automatic")["Version"] == 2, "revert")
    state = judged(direct, "automatic")
    assert (state.replicas, deployment(state).rollback) == (1, True)
    nomad.purge("automatic")


def test_a_job_registered_anew_has_no_size_before(direct: LiveAdapter, nomad: NomadServer) -> None:
    scaled(direct, nomad, "anew")
    nomad.purge("anew")
    nomad.register(unplaced("anew", count=2))
    state = judged(direct, "anew")
    assert (deployment(state).before, state.reset_by) == (0, "")


def test_canaries_that_wait_for_a_promotion_are_reported(direct: LiveAdapter, nomad: NomadServer) -> None:
    """Scaling is held until an operator promotes them."""
    update = deployed(Canary=1)
    nomad.register(service("promoted", Update=update))
    nomad.wait(lambda: not nomad.deploying("promoted"), "end of the deployment")
    nomad.register(service("promoted", command="exec sleep 3601", Update=update))

    def waits(seen: TargetState) -> bool:
        return seen.hold.scale_out is not None and seen.hold.scale_out.reason == "AwaitingPromotion"

    state = direct.wait_for("promoted/work", waits, "to wait for a promotion")
    assert state.hold.scale_out is not None
    assert "nomad deployment promote" in state.hold.scale_out.message
    nomad.purge("promoted")


def test_an_old_registration_costs_nothing(
    direct: LiveAdapter, proxied: LiveAdapter, proxy: Faults, nomad: NomadServer
) -> None:
    """A daemon that starts beside a thousand jobs must not read the history of each."""
    scaled(direct, nomad, "old")
    nomad.register(unplaced("old", command="exec sleep 3601"))
    call = proxied.call()
    later = type(call)(call.now.fromtimestamp(time.time() + 3700, call.now.tzinfo), call.deadline)
    target = proxied.ref("old/work")
    for _ in range(2):
        state = proxied.adapter.observe([target], later)[target]
    assert proxy.count("/job/old") == 1
    assert isinstance(state, TargetState)
    assert state.deployment is None


def test_two_registrations_between_two_cycles_are_both_told(direct: LiveAdapter, nomad: NomadServer) -> None:
    """The second one finds the count that the first one set, so that alone it would look harmless."""
    scaled(direct, nomad, "twice")
    nomad.register(unplaced("twice", command="exec sleep 3601"))
    nomad.register(unplaced("twice", command="exec sleep 3602"))
    found = deployment(judged(direct, "twice"))
    assert (found.before, [size for _, size in found.earlier]) == (1, [3])


def test_a_write_to_one_group_does_not_hide_the_registration_from_another(
    direct: LiveAdapter, nomad: NomadServer
) -> None:
    """A job without deployments accepts a count in the cycle that first sees the registration."""
    other = {"Name": "other", "Count": 1}
    job = unplaced("both")
    job["TaskGroups"].append({**job["TaskGroups"][0], **other})
    nomad.register(job)
    for group in ("work", "other"):
        nomad.scale("both", group, 3)
    judged(direct, "both")
    nomad.register({**job, "Meta": {"release": "2"}})
    state = direct.state("both/work")
    assert deployment(state).certain is False
    assert direct.scale("both/work", state, 5) == Written(5)
    for _ in range(2):
        found = deployment(direct.state("both/other"))
        assert (found.before, found.certain) == (3, True)
        assert direct.state("both/work").deployment is None
    assert direct.scale("both/work", direct.state("both/work"), 6) == Written(6)
    assert deployment(direct.state("both/other")).id == found.id


def test_a_job_that_was_stopped_has_no_size_before(direct: LiveAdapter, nomad: NomadServer) -> None:
    """It ran no instance, however long ago. The operator who starts it again sets the count."""
    scaled(direct, nomad, "halted")
    nomad.ask("DELETE", "/v1/job/halted")
    direct.look("halted/work")
    nomad.register(unplaced("halted", command="exec sleep 3601"))
    state = judged(direct, "halted")
    assert (state.replicas, deployment(state).before, state.reset_by) == (1, 0, "")


def test_a_file_registered_once_more_after_many_scalings_is_no_rollback(
    direct: LiveAdapter, nomad: NomadServer
) -> None:
    """Nomad keeps six versions, so the file's own registration is gone, and one of the scalings had its count."""
    scaled(direct, nomad, "often")
    for size in (4, 5, 6, 1, 2, 3):
        nomad.scale("often", "work", size)
    nomad.register(unplaced("often"))
    found = deployment(judged(direct, "often"))
    assert (found.before, found.rollback) == (3, False)


def test_an_automatic_revert_to_an_old_version_is_a_rollback(direct: LiveAdapter, nomad: NomadServer) -> None:
    """It keeps the time of that version, which looks too old to matter."""
    scaled(direct, nomad, "reverts")
    nomad.register(unplaced("reverts", command="exec sleep 3601"))
    judged(direct, "reverts")
    nomad.ask("POST", "/v1/job/reverts/revert", {"JobID": "reverts", "JobVersion": 0})
    call = direct.call()
    later = type(call)(call.now.fromtimestamp(time.time() + 7200, call.now.tzinfo), call.deadline)
    target = direct.ref("reverts/work")
    for _ in range(2):
        state = direct.adapter.observe([target], later)[target]
    assert isinstance(state, TargetState)
    assert deployment(state).rollback
