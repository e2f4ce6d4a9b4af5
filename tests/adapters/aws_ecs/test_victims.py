"""Scale-ins with named victims: all other tasks are protected while ECS chooses."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from autoscaler.errors import TargetNotWritten, TargetRefused
from autoscaler.model import Held, Written
from tests.adapters.aws_ecs.conftest import Cloud, Connect, LiveAdapter
from tests.servers.faults import says

pytestmark = pytest.mark.slow
_PROTECT = "UpdateTaskProtection"
_OURS = timedelta(minutes=5)


@pytest.fixture(autouse=True)
def still(cloud: Cloud) -> None:
    """Time passes only when a test advances it."""
    cloud.world.steered = cloud.world.now


def ids(cloud: Cloud, name: str) -> list[str]:
    """Return the ids of the tasks that stay, the oldest first."""
    service = cloud.server.services()[name]
    service.settle()
    return [one.id for one in service.tasks if one.desired == "RUNNING"]


def protected(cloud: Cloud, name: str) -> dict[str, timedelta]:
    """Return for how long each protected task that stays is protected."""
    now, tasks = cloud.world.now, cloud.server.services()[name].tasks
    return {
        one.id: one.protected_until - now
        for one in tasks
        if one.desired == "RUNNING" and one.protected_until is not None and one.protected_until > now
    }


def protect(cloud: Cloud, name: str, tasks: Sequence[str], minutes: int = 120) -> None:
    """Protect tasks, as their application does."""
    wanted = {"protectionEnabled": True, "expiresInMinutes": minutes}
    cloud.ecs.update_task_protection(cluster=name.partition("/")[0], tasks=arns(cloud, name, tasks), **wanted)


def arns(cloud: Cloud, name: str, tasks: Sequence[str]) -> list[str]:
    """Return the ARNs of tasks."""
    return [one.arn for one in cloud.server.services()[name].tasks if one.id in tasks]


def test_the_victims_leave_and_all_others_are_protected_for_five_minutes(cloud: Cloud, connection: LiveAdapter) -> None:
    """ECS would end the newest tasks. 25 tasks take three updates."""
    cloud.create("shop/web", 27)
    state, before = connection.state("shop/web"), ids(cloud, "shop/web")
    assert connection.scale("shop/web", state, 25, victims=tuple(before)) == Written(25)
    assert ids(cloud, "shop/web") == before[2:]
    assert protected(cloud, "shop/web") == dict.fromkeys(before[2:], _OURS)
    assert cloud.server.count(_PROTECT) == 3


def test_without_victims_no_task_is_protected(cloud: Cloud, connection: LiveAdapter) -> None:
    """This is the default: such a policy needs no action for it. A scale-out has no victims either."""
    cloud.create("shop/web", 3)
    before = ids(cloud, "shop/web")
    assert connection.scale("shop/web", connection.state("shop/web"), 2) == Written(2)
    assert connection.scale("shop/web", connection.state("shop/web"), 4, victims=tuple(before)) == Written(4)
    assert cloud.server.count(_PROTECT) == cloud.server.count("GetTaskProtection") == 0


def test_the_next_scale_in_ends_tasks_that_were_protected_for_the_last_one(
    cloud: Cloud, connection: LiveAdapter
) -> None:
    """Our own protection is ended for them, and renewed for the others."""
    cloud.create("shop/web", 5)
    before = ids(cloud, "shop/web")
    assert connection.scale("shop/web", connection.state("shop/web"), 4, victims=tuple(before)) == Written(4)
    cloud.world.advance(60)
    assert connection.scale("shop/web", connection.state("shop/web"), 2, victims=tuple(before)) == Written(2)
    assert ids(cloud, "shop/web") == before[3:]
    assert protected(cloud, "shop/web") == dict.fromkeys(before[3:], _OURS)


@pytest.mark.parametrize("minutes", [1, 120])
def test_a_protection_of_the_application_stays_as_it_is(cloud: Cloud, connection: LiveAdapter, minutes: int) -> None:
    """It is neither shortened nor lifted nor extended, and the next in rank leaves instead."""
    cloud.create("shop/web", 4)
    before = ids(cloud, "shop/web")
    protect(cloud, "shop/web", [before[0], before[3]], minutes)
    assert connection.scale("shop/web", connection.state("shop/web"), 3, victims=tuple(before)) == Written(3)
    assert ids(cloud, "shop/web") == [before[0], *before[2:]]
    theirs = timedelta(minutes=minutes)
    assert protected(cloud, "shop/web") == {before[0]: theirs, before[2]: _OURS, before[3]: theirs}


def test_an_application_that_prolongs_our_protection_owns_it(cloud: Cloud, connection: LiveAdapter) -> None:
    """The task began a job after it was protected for a scale-in."""
    cloud.create("shop/web", 4)
    before = ids(cloud, "shop/web")
    assert connection.scale("shop/web", connection.state("shop/web"), 3, victims=tuple(before)) == Written(3)
    cloud.world.advance(10)
    protect(cloud, "shop/web", [before[1]])
    assert connection.scale("shop/web", connection.state("shop/web"), 2, victims=tuple(before)) == Written(2)
    assert ids(cloud, "shop/web") == [before[1], before[3]]
    assert protected(cloud, "shop/web")[before[1]] == timedelta(hours=2)


def test_a_scale_in_goes_no_further_than_tasks_are_free(cloud: Cloud, connection: LiveAdapter) -> None:
    """Below that size ECS would end each protected task as soon as its protection ends, whatever is decided by then."""
    cloud.create("shop/web", 4)
    before = ids(cloud, "shop/web")
    protect(cloud, "shop/web", before[1:])
    assert connection.scale("shop/web", connection.state("shop/web"), 1, victims=tuple(before)) == Written(3)
    outcome = connection.scale("shop/web", connection.state("shop/web"), 1, victims=tuple(before))
    assert isinstance(outcome, Held)
    assert outcome.hold.reason == "NoVictim"
    assert cloud.desired("shop/web") == 3


def test_a_crash_between_protection_and_size_costs_the_victims_nothing(cloud: Cloud, connect: Connect) -> None:
    """The next connection does not know the protections as ours. It ends the unprotected tasks, or waits for the end.

    The lost answer stands for the crash: nothing follows it.
    """
    connection = connect(endpointUrl=cloud.server.url)
    cloud.create("shop/web", 4)
    before = ids(cloud, "shop/web")
    cloud.server.refuse("ecs:UpdateService", "ThrottlingException", times=100)
    outcome = connection.scale("shop/web", connection.state("shop/web"), 3, seconds=6, victims=tuple(before))
    assert isinstance(outcome, TargetNotWritten)
    assert set(protected(cloud, "shop/web")) == set(before[1:])
    cloud.server.faults.faults.clear()
    successor = connect(endpointUrl=cloud.server.url)
    cloud.world.advance(10)
    seen = successor.state("shop/web")
    held = successor.scale("shop/web", seen, 3, victims=tuple(before[1:]))
    assert isinstance(held, Held)
    assert held.hold.reason == "NoVictim"
    assert successor.scale("shop/web", seen, 3, victims=tuple(before)) == Written(3)
    assert ids(cloud, "shop/web") == before[1:]
    cloud.world.advance(300)
    assert successor.scale("shop/web", successor.state("shop/web"), 2, victims=tuple(before[1:])) == Written(2)
    assert ids(cloud, "shop/web") == before[2:]


def test_more_than_100_tasks_are_refused(cloud: Cloud, connection: LiveAdapter) -> None:
    """AWS tells the protection of 100 tasks a call, and a decision may not take a minute of calls."""
    cloud.create("shop/big", 101)
    cloud.create("shop/web", 2)
    outcome = connection.scale("shop/big", connection.state("shop/big"), 100, victims=tuple(ids(cloud, "shop/big")))
    assert isinstance(outcome, Held)
    assert outcome.hold.reason == "TooManyTasks"
    assert "remove it, and ECS chooses" in outcome.hold.message
    assert (cloud.desired("shop/big"), cloud.server.count(_PROTECT)) == (101, 0)
    neighbour = connection.scale("shop/web", connection.state("shop/web"), 1, victims=tuple(ids(cloud, "shop/web")))
    assert neighbour == Written(1)


def test_a_task_that_cannot_be_protected_costs_the_scale_in(cloud: Cloud, connection: LiveAdapter) -> None:
    """Without protection ECS might end it in the place of the victim."""
    cloud.create("shop/web", 3)
    state, before = connection.state("shop/web"), ids(cloud, "shop/web")
    failed = {"arn": "task/1", "reason": "TASK_NOT_VALID", "detail": "alone"}
    cloud.server.faults.faults.append(says(_PROTECT, {"protectedTasks": [], "failures": [failed]}))
    outcome = connection.scale("shop/web", state, 2, victims=tuple(before))
    assert isinstance(outcome, TargetRefused)
    assert "AWS does not protect task task/1 for `victims`: TASK_NOT_VALID, alone" in str(outcome)
    assert cloud.desired("shop/web") == 3


@pytest.mark.parametrize("action", ["GetTaskProtection", _PROTECT])
def test_an_answer_without_a_task_costs_the_scale_in(cloud: Cloud, connection: LiveAdapter, action: str) -> None:
    """The task may be unprotected, so that ECS might end it in the place of the victim."""
    cloud.create("shop/web", 3)
    state, before = connection.state("shop/web"), ids(cloud, "shop/web")
    cloud.server.faults.faults.append(says(action, {"protectedTasks": [], "failures": []}))
    outcome = connection.scale("shop/web", state, 2, victims=tuple(before))
    assert isinstance(outcome, TargetNotWritten)
    assert "the answer lacks what AWS documents" in str(outcome)
    assert cloud.desired("shop/web") == 3


def test_a_task_that_ended_meanwhile_costs_nothing(cloud: Cloud, connection: LiveAdapter) -> None:
    """AWS counts it as missing. ECS has one task less to end."""
    cloud.create("shop/web", 3)
    state, before = connection.state("shop/web"), ids(cloud, "shop/web")
    missing = [{"arn": arn, "reason": "MISSING"} for arn in arns(cloud, "shop/web", before[:1])]
    there = [{"taskArn": arn, "protectionEnabled": False} for arn in arns(cloud, "shop/web", before[1:])]
    cloud.server.faults.faults.append(says("GetTaskProtection", {"protectedTasks": there, "failures": missing}))
    assert connection.scale("shop/web", state, 2, victims=tuple(before)) == Written(2)
    assert set(protected(cloud, "shop/web")) == set(before[1:])


def test_a_daemon_that_lost_its_lease_protects_nothing_more(cloud: Cloud, connection: LiveAdapter) -> None:
    """The next leader may have decided differently."""
    cloud.create("shop/web", 25)
    state, before = connection.state("shop/web"), ids(cloud, "shop/web")
    leads = lambda: cloud.server.count(_PROTECT) == 0  # noqa: E731
    outcome = connection.scale("shop/web", state, 24, victims=tuple(before), is_current=leads)
    assert isinstance(outcome, TargetNotWritten)
    assert (cloud.desired("shop/web"), cloud.server.count(_PROTECT)) == (25, 1)
