"""Adapters are foreign code: their answers are checked against the contract."""

import re
import weakref
from collections import UserDict
from dataclasses import fields
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from autoscaler.errors import TargetError, TargetForbidden
from autoscaler.model import (
    MAX_SIZE,
    AwaitingDrain,
    Deployment,
    Hold,
    HoldReason,
    Instance,
    Limits,
    Phase,
    TargetRef,
    TargetState,
)
from autoscaler.model.target import NO_REQUESTS
from autoscaler.target import Discovery
from autoscaler.target.answers import StateCheck, WrongAnswer, checked_discovery, checked_error
from tests.replaced import replace

WEB = TargetRef("fleet", "web")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
MEMBER = Instance("a", Phase.RUNNING, True, NOW, NOW, identities=frozenset({"a", "10.0.0.1:80"}))
STATE = TargetState(1, 1, (MEMBER,))
TOLD = HoldReason("Rollout", "v2")
DEPLOYMENT = Deployment("v3", 2, "leave the count out", rollback=True, earlier=(("v2", 5),), certain=False)


def check(answer: Any) -> TargetState:
    return StateCheck()(WEB, answer)


TEXT: Any = "10.0.0.1"
NUMBER: Any = 60
"""Of types that the contract does not have."""
WRONG: dict[str, tuple[Any, str]] = {
    "nothing": (None, "the answer is None, expected a TargetState or a TargetError"),
    "another type": ("up", "the answer is 'up', expected a TargetState"),
    "replicas": (replace(STATE, replicas="3"), "replicas is '3', expected a whole number from 0 to 2147483647"),
    "truth as replicas": (replace(STATE, replicas=True), "replicas is True"),
    "a fraction": (replace(STATE, status_replicas=1.0), "status_replicas is 1.0"),
    "below 0": (replace(STATE, replicas=-1), "replicas is -1"),
    "beyond int32": (replace(STATE, replicas=MAX_SIZE + 1), "replicas is 2147483648"),
    "digits without end": (replace(STATE, replicas=10**5000), "replicas is a whole number of 16610 bits"),
    "a list": (replace(STATE, instances=[MEMBER]), "instances is of the type list of 1, expected a tuple"),
    "too many": (replace(STATE, instances=(MEMBER,) * 100_001), "instances is of the type tuple of 100001"),
    "twice": (replace(STATE, instances=(MEMBER, replace(MEMBER, weight=2))), "instances has 2 of the name 'a'"),
    "limits": (replace(STATE, limits=None), "limits is None, expected Limits"),
    "a limit": (replace(STATE, limits=Limits(0, "5")), "limits.maximum is '5'"),  # type: ignore[arg-type]  # wrong
    "a source": (replace(STATE, limits=Limits(source=None)), "limits.source is None"),  # type: ignore[arg-type]  # wrong
    "hold": (replace(STATE, hold=TOLD), "hold is of the type HoldReason, expected a Hold"),
    "a hold": (replace(STATE, hold=Hold("wait")), "hold.scale_out is 'wait', expected a HoldReason"),  # type: ignore[arg-type]  # wrong
    "a hold's reason": (replace(STATE, hold=Hold(None, HoldReason(7, ""))), "hold.scale_in.reason is 7"),  # type: ignore[arg-type]  # wrong
    "revision": (replace(STATE, revision=7), "revision is 7, expected None or a text"),
    "a long revision": (replace(STATE, revision="x" * 256), "revision is 'xxx"),
    "warnings": (replace(STATE, warnings="careful"), "warnings is 'careful', expected a tuple"),
    "a warning": (replace(STATE, warnings=(None,)), "warnings is None, expected texts"),
    "a warm-up": (replace(STATE, warm_up=90), "warm_up is 90, expected a timedelta from 0 to 36500 days"),
    "what waits": (replace(STATE, awaiting_drain=["i-1"]), "awaiting_drain is of the type list"),
    "an instance that waits": (replace(STATE, awaiting_drain=("i-1",)), "awaiting_drain[0] is 'i-1', expected an Aw"),
    "its name": (
        replace(STATE, awaiting_drain=(AwaitingDrain("i-1\n"),)),
        "awaiting_drain[0].instance is 'i-1\\n', expected a printable text",
    ),
    "its addresses": (
        replace(STATE, awaiting_drain=(AwaitingDrain("i-1", TEXT),)),
        "awaiting_drain[0].addresse",
    ),
    "its heartbeat": (
        replace(STATE, awaiting_drain=(AwaitingDrain("i-1", (), NUMBER),)),
        "awaiting_drain[0].heartbeat is",
    ),
    "a deployment": (replace(STATE, deployment=TEXT), "deployment is '10.0.0.1', expected a Deployment or None"),
    "its id": (replace(STATE, deployment=replace(DEPLOYMENT, id=NUMBER)), "deployment.id is 60, expected a text"),
    "the size before it": (replace(STATE, deployment=replace(DEPLOYMENT, before=-1)), "deployment.before is -1"),
    "its rollback": (replace(STATE, deployment=replace(DEPLOYMENT, rollback=NUMBER)), "deployment.rollback is 60"),
    "those before it": (replace(STATE, deployment=replace(DEPLOYMENT, earlier=NUMBER)), "deployment.earlier is 60"),
    "one before it": (replace(STATE, deployment=replace(DEPLOYMENT, earlier=(TEXT,))), "expected a tuple of pairs"),
    "too many warnings": (replace(STATE, warnings=("",) * 101), "warnings is of the type tuple of 101"),
}


@pytest.mark.parametrize(("answer", "said"), WRONG.values(), ids=WRONG)
def test_a_wrong_state_is_refused_with_its_field_and_what_came(answer: Any, said: str) -> None:
    """The adapter's author must find the fault by the message alone."""
    with pytest.raises(WrongAnswer) as caught:
        check(answer)
    assert said in str(caught.value)


MEMBERS: dict[str, tuple[dict[str, Any], str]] = {
    "no name": ({"name": None}, "name is None, expected a printable text of at most 1 KiB"),
    "an empty name": ({"name": ""}, "name is ''"),
    "a name that steers a terminal": ({"name": "\x1b[2J"}, r"name is '\x1b[2J'"),
    "a long name": ({"name": "x" * 1025}, "name is 'xxx"),
    "a phase in words": ({"phase": "Running"}, "phase is 'Running', expected a Phase"),
    "ready in words": ({"ready": "yes"}, "ready is 'yes', expected True, False or None"),
    "ready as a number": ({"ready": 1}, "ready is 1"),
    "deleting": ({"deleting": None}, "deleting is None, expected True or False"),
    "no weight": ({"weight": 0}, "weight is 0, expected a whole number from 1 to 2147483647"),
    "half a weight": ({"weight": 0.5}, "weight is 0.5"),
    "an identity that is None": ({"identities": frozenset({"a", None})}, "identities is None, expected texts"),
    "a list of identities": ({"identities": ["a"]}, "identities is of the type list of 1"),
    "one text as identities": ({"identities": "web-1"}, "identities is 'web-1', expected a frozenset"),
    "too many identities": ({"identities": frozenset(map(str, range(101)))}, "identities is of the type frozenset of"),
    "seconds": ({"started_at": 1_700_000_000}, "started_at is 1700000000, expected an aware datetime in UTC, or None"),
    "a time without a zone": ({"started_at": NOW.replace(tzinfo=None)}, "started_at is datetime.datetime(2026"),
    "Go's zero time": ({"ready_transition": NOW.replace(year=1)}, "expected a time in the years 1970 to 2199, or None"),
    "the end of time": ({"started_at": datetime.max.replace(tzinfo=UTC)}, "started_at is datetime.datetime(9999"),
    "requests": ({"requests": None}, "requests is None, expected a mapping"),
    "a request in words": ({"requests": {"cpu": "500m"}}, "requests['cpu'] is '500m'"),
    "a request below 0": ({"requests": {"cpu": -1}}, "requests['cpu'] is -1"),
    "a request beyond 63 bits": ({"requests": {"cpu": 2**63}}, "requests['cpu'] is 9223372036854775808"),
    "a resource": ({"requests": {None: 1}}, "requests is None, expected texts"),
    "containers": ({"container_requests": {"app": 5}}, "container_requests['app'] is 5, expected a mapping"),
    "a container's": ({"container_requests": {"app": {"cpu": None}}}, "container_requests['app']['cpu'] is None"),
    "detail": ({"detail": None}, "detail is None, expected a text"),
}


@pytest.mark.parametrize(("fields", "said"), MEMBERS.values(), ids=MEMBERS)
def test_a_wrong_instance_is_refused_with_its_place(fields: dict[str, Any], said: str) -> None:
    wrong = replace(replace(MEMBER, name="b"), **fields)
    with pytest.raises(WrongAnswer) as caught:
        check(replace(STATE, instances=(MEMBER, wrong)))
    assert str(caught.value).startswith("instances[1].")
    assert said in str(caught.value)


def test_a_valid_state_keeps_each_of_its_fields() -> None:
    """A field that the check forgets would be lost without an error. Instances are not copied: a fleet has many."""
    state = TargetState(
        replicas=3,
        status_replicas=2,
        instances=(MEMBER,),
        limits=Limits(1, 9, "the group's own"),
        hold=Hold(TOLD, HoldReason("Refresh", "v3")),
        revision="7",
        warnings=("another autoscaler",),
        deployment=DEPLOYMENT,
        reset_by="the next deployment",
        warm_up=timedelta(seconds=90),
        awaiting_drain=(AwaitingDrain("a", ("10.0.0.1", "10.0.0.2"), timedelta(minutes=1)),),
        not_started=True,
    )
    assert all(getattr(state, field.name) != field.default for field in fields(state)), "each field is set"
    found = check(state)
    assert found == state
    assert found.instances[0] is MEMBER


def test_texts_are_made_plain_and_short() -> None:
    """They appear in the log, on the page and in the state."""
    state = TargetState(
        1,
        1,
        (replace(MEMBER, identities=frozenset({"x" * 5000}), detail="\x1b[31mred"),),
        Limits(source="a\nb"),
        Hold(HoldReason("Roll\rout", "\u202ev2"), None),
        warnings=("w" * 5000,),
    )
    found = check(state)
    (identity,) = found.instances[0].identities
    assert len(identity.encode()) == len(found.warnings[0].encode()) == 1024
    assert found.instances[0].detail == r"\x1b[31mred"
    assert found.limits.source == "a b"
    assert found.hold == Hold(HoldReason("Roll out", "v2"), None)


def test_times_are_converted_to_utc() -> None:
    """A client library may use another type of UTC, or another zone."""
    east = replace(MEMBER, started_at=NOW.astimezone(timezone(timedelta(hours=5))))
    found = check(replace(STATE, instances=(east,))).instances[0].started_at
    assert (found, found and found.tzinfo) == (NOW, UTC)


def test_any_mapping_of_requests_becomes_a_dict() -> None:
    """The state can store it."""
    requests: Any = UserDict({"cpu": 500})
    member = replace(MEMBER, requests=requests, container_requests=UserDict({"app": requests}))
    found = check(replace(STATE, instances=(member,))).instances[0]
    kept: list[object] = [found.requests, found.container_requests, found.container_requests["app"]]
    assert [type(each) for each in kept] == [dict] * 3


def test_an_unchanged_instance_is_the_one_that_was_checked() -> None:
    """Equal values may have other types: 1 equals True, and "Running" equals Phase.RUNNING."""
    checks = StateCheck()
    other = replace(MEMBER, name="b", detail="new\n")
    first = checks(WEB, replace(STATE, instances=(MEMBER, other)))
    odd = replace(MEMBER, ready=1, phase="Running")
    again = checks(WEB, replace(STATE, instances=(replace(other, weight=3), odd)))
    assert again.instances[1] is first.instances[0]
    assert again.instances[0] == replace(other, weight=3, detail="new ")
    assert checks(WEB, replace(STATE, instances=(odd, replace(other)))).instances == first.instances


def test_the_same_state_object_is_not_checked_again() -> None:
    """A thousand unchanged targets need no check."""
    checks = StateCheck()
    state = replace(STATE, instances=(replace(MEMBER, detail="new\n"),))
    first = checks(WEB, state)
    assert checks(WEB, state) is first
    checks.follow(set())
    again = checks(WEB, state)
    assert again is not first
    assert again == first


def test_an_equal_state_is_replaced_by_the_last_one() -> None:
    """Later stages detect by identity that nothing has changed."""
    checks = StateCheck()
    first = checks(WEB, replace(STATE))
    assert checks(WEB, replace(STATE)) is first
    assert checks(WEB, replace(STATE, replicas=STATE.replicas + 1)) is not first


def test_a_wrong_state_does_not_affect_the_last_one() -> None:
    checks = StateCheck()
    checks(WEB, STATE)
    with pytest.raises(WrongAnswer):
        checks(WEB, replace(STATE, instances=(replace(MEMBER, weight=0),)))
    assert checks(WEB, STATE) == STATE


def test_an_adapters_own_class_of_error_is_replaced() -> None:
    """Its message may run any code, and is requested once."""

    class Own(TargetForbidden):
        def __str__(self) -> str:
            raise RuntimeError

    found = checked_error(Own("denied"))
    assert type(found) is TargetForbidden
    assert "Own, which has no message" in str(found)
    own = TargetError("ours")
    assert checked_error(own) is own


def test_the_last_state_of_a_removed_target_is_freed() -> None:
    """Names with a version change with each deployment, and a daemon runs for months."""
    check = StateCheck()
    identities = frozenset({"web-1-a"})
    kept = weakref.ref(identities)
    check(TargetRef("fleet", "web-1"), TargetState(1, 1, (replace(MEMBER, identities=identities),)))
    del identities
    assert kept() is not None
    check.follow({TargetRef("fleet", "web-2")})
    assert kept() is None


def test_instances_without_requests_share_one_immutable_mapping() -> None:
    """Two mappings take a third of an instance's memory."""
    other = replace(MEMBER, name="b", requests=NO_REQUESTS)
    assert all(each is NO_REQUESTS for each in (other.requests, MEMBER.requests, MEMBER.container_requests))
    assert check(STATE).instances[0] is MEMBER
    with pytest.raises(TypeError, match="a mapping of its own"):
        NO_REQUESTS["cpu"] = 1
    with pytest.raises(TypeError, match="a mapping of its own"):
        NO_REQUESTS.update(cpu=1)
    assert other.requests == {}


SHOP = TargetRef("fleet", "web", "shop")
WRONG_DISCOVERIES: dict[str, tuple[Any, str]] = {
    "nothing": (None, "the answer is None, expected a Discovery"),
    "policies in a list": (Discovery([], {}), "expected mappings"),  # type: ignore[arg-type]  # wrong
    "failures in a list": (Discovery({}, []), "expected mappings"),  # type: ignore[arg-type]  # wrong
    "a failure in words": (Discovery({}, {"shop": "down"}), "a failure is 'down', expected a TargetError"),  # type: ignore[dict-item]  # wrong
    "a failure elsewhere": (
        Discovery({}, {"pay": TargetForbidden("no")}),
        "expected a TargetError for one of the name",
    ),
    "a name for a target": (Discovery({"web": {}}, {}), "a target is 'web', expected a TargetRef"),  # type: ignore[dict-item]  # wrong
    "another connection": (Discovery({replace(SHOP, adapter="b"): {}}, {}), "of the connection fleet without a region"),
    "a region": (Discovery({replace(SHOP, region="eu"): {}}, {}), "of the connection fleet without a region"),
    "parts in words": (Discovery({replace(SHOP, parts="web"): {}}, {}), "a target's parts is 'web', expected a tuple"),
    "a part": (Discovery({replace(SHOP, parts=(7,)): {}}, {}), "expected a tuple of texts"),
    "another namespace": (Discovery({replace(SHOP, namespace="pay"): {}}, {}), "a target's name is 'web', expected a"),
    "a number as name": (Discovery({replace(SHOP, name=7): {}}, {}), "a target's name is 7, expected a text"),
    "a policy in words": (Discovery({SHOP: "min: 1"}, {}), "a policy is 'min: 1', expected a mapping"),  # type: ignore[dict-item]  # wrong
}


@pytest.mark.parametrize(("answer", "said"), WRONG_DISCOVERIES.values(), ids=WRONG_DISCOVERIES)
def test_a_wrong_discovery_is_refused(answer: Any, said: str) -> None:
    with pytest.raises(WrongAnswer, match=re.escape(said)):
        checked_discovery(answer, "fleet", ["shop"])


def test_a_discovered_name_that_is_not_printable_is_a_failure_of_its_namespace() -> None:
    """Without namespaces, of the connection. The neighbour stays."""
    found = checked_discovery(Discovery({replace(SHOP, name="a\nb"): {}, SHOP: {}}, {}), "fleet", ["shop"])
    assert list(found.policies) == [SHOP]
    assert str(found.failures["shop"]).startswith("`a b` is left out; give it a printable name")
    alone = replace(SHOP, name="a\nb", namespace=None)
    assert list(checked_discovery(Discovery({alone: {}}, {}), "fleet", []).failures) == ["fleet"]
