"""What programs answer, and whom a wrong answer costs."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from adapters.command.answers import outcome, states
from autoscaler.model import (
    Conflict,
    Held,
    Hold,
    HoldReason,
    Instance,
    Limits,
    Phase,
    ScaleChange,
    TargetRef,
    TargetState,
    Unchanged,
    Written,
)
from autoscaler.target import (
    TargetError,
    TargetForbidden,
    TargetNotFound,
    TargetNotScalable,
    TargetNotWritten,
    TargetRefused,
    TargetUnavailable,
)
from autoscaler.target.answers import StateCheck
from tests.adapters.command.harness import SHOP, WEB

CHANGE = ScaleChange("1", 5, 3, None, "the test says so")


def observed(*entries: Any, asked: tuple[TargetRef, ...] = (WEB, SHOP)) -> Any:
    return states(json.dumps({"targets": entries}).encode(), asked, "/bin/program")


def of(target: TargetRef = WEB, **keys: Any) -> dict[str, Any]:
    return {"target": {"name": target.name}, **keys}


def test_the_least_answer_is_a_size() -> None:
    """Not every back end lists its instances. What exists is then what is set."""
    assert observed(of(replicas=3), asked=(WEB,)) == {WEB: TargetState(3, 3, ())}


def test_every_key_of_an_answer_becomes_its_field() -> None:
    """The daemon accepts the state that comes of it; times are in UTC."""
    noon = datetime(2026, 1, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    instances = [
        {"name": "a", "ready": True, "identities": ["10.0.0.1"], "startedAt": noon.isoformat(), "weight": 2},
        {"name": "b", "ready": False, "readyTransition": noon.isoformat(), "detail": "boots"},
        {"name": "c", "phase": "Failed"},
        {"name": "d", "deleting": True},
    ]
    hold = {"scaleIn": {"reason": "Rolling", "message": "a rollout goes on"}}
    limits = {"minimum": 1, "maximum": 9}
    entry = of(replicas=4, instances=instances, hold=hold, limits=limits, revision="7", warnings=["old"])
    state = observed(entry, asked=(WEB,))[WEB]
    utc = noon.astimezone(UTC)
    assert StateCheck()(WEB, state) == TargetState(
        4,
        3,
        (
            Instance("a", Phase.RUNNING, True, started_at=utc, identities=frozenset({"a", "10.0.0.1"}), weight=2),
            Instance("b", Phase.RUNNING, False, ready_transition=utc, identities=frozenset({"b"}), detail="boots"),
            Instance("c", Phase.FAILED, None, identities=frozenset({"c"})),
            Instance("d", Phase.RUNNING, None, deleting=True, identities=frozenset({"d"})),
        ),
        Limits(1, 9),
        Hold(scale_in=HoldReason("Rolling", "a rollout goes on")),
        "7",
        ("old",),
    )
    assert state.instances[0].started_at.tzinfo is UTC


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("Unavailable", TargetUnavailable),
        ("NotFound", TargetNotFound),
        ("NotScalable", TargetNotScalable),
        ("Forbidden", TargetForbidden),
    ],
)
def test_an_error_affects_only_its_target(word: str, kind: type[TargetError]) -> None:
    found = observed(of(error=word, message="ask the owner"), of(SHOP, replicas=1))
    assert type(found[WEB]) is kind
    assert str(found[WEB]) == "ask the owner"
    assert found[SHOP] == TargetState(1, 1, ())


def test_an_error_without_a_message_names_the_program_and_the_target() -> None:
    found = observed(of(error="NotFound"), of(SHOP, replicas=1))
    assert str(found[WEB]) == "/bin/program answered for test/web NotFound, without a message"


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (of(replicas="3"), "Expected `int | null`, got `str` - at `$.replicas`"),
        (of(replicas=-1), "`$.replicas`"),
        (of(replicas=3, size=3), "unknown field `size`"),
        (of(replicas=3, instances=[{"name": "a", "startedAt": "2026-01-01T00:00:00"}]), "instances[0].startedAt`"),
        (of(replicas=3, instances=[{}]), "required field `name` - at `$.instances[0]`"),
        (of(), "answered for test/web neither of replicas and error"),
        (of(replicas=3, error="NotFound"), "answered for test/web both of replicas and error"),
        (of(error="Broken"), "Invalid enum value 'Broken'"),
        (of(error="Refused"), "Invalid enum value 'Refused'"),
        (
            3,
            "an entry for each target is expected; of an entry that names no target: the answer is not",
        ),
        ({"replicas": 3}, "names no target: the answer is not of the form expected (Object missing"),
        (
            of(replicas=3, instances=[{"name": "a", "startedAt": "0001-01-01T00:00:00+05:00"}]),
            "date value out of range",
        ),
        (
            of(TargetRef("test", "webb"), replicas=3),
            "/bin/program did not answer for test/web; an entry for each target is expected",
        ),
    ],
)
def test_a_wrong_entry_costs_its_own_target(entry: Any, words: str) -> None:
    """The neighbour is decided from its own entry."""
    found = observed(entry, of(SHOP, replicas=1))
    assert isinstance(found[WEB], TargetUnavailable)
    assert words in str(found[WEB])
    assert found[SHOP] == TargetState(1, 1, ())


def test_two_answers_for_a_target_are_none() -> None:
    """Which one is right is unknown."""
    found = observed(of(replicas=3), of(replicas=4), of(SHOP, replicas=1))
    assert str(found[WEB]) == "/bin/program answered for test/web more than once; one entry for each target is expected"
    assert found[SHOP] == TargetState(1, 1, ())


def test_targets_of_one_name_are_told_apart() -> None:
    """A namespace or a region is part of what a target is."""
    east, west = TargetRef("test", "web", "team", "east"), TargetRef("test", "web", "team", "west")
    entries = [
        {"target": {"name": "web", "namespace": "team", "region": each.region}, "replicas": size}
        for each, size in ((west, 1), (east, 2))
    ]
    found = observed(*entries, asked=(east, west))
    assert [found[each].replicas for each in (east, west)] == [2, 1]


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (b"", "the answer is not JSON; it is empty"),
        (b"<html>\n\x1b[31mno", "the answer is not JSON; it begins '<html> "),
        (b"[]", "not of the form expected (Expected `object`, got `array`)"),
        (b'{"targets": 3}', "not of the form expected"),
        (b"[" * 1_000_000, "; it begins '[[["),
        (b'{"targets": [' + b"{}," * 15_000_000, "more values than an answer of its size should"),
        (b"\xff\xfe", "; it begins"),
    ],
)
def test_garbage_costs_all_targets_of_the_call(output: bytes, words: str) -> None:
    """It is no size of zero, and its text is shown in one short line."""
    with pytest.raises(TargetUnavailable) as failure:
        states(output, (WEB, SHOP), "/bin/program")
    assert str(failure.value).startswith("/bin/program: the answer ")
    assert words in str(failure.value)
    assert str(failure.value).isprintable()
    assert len(str(failure.value)) < 600


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ({"outcome": "Written"}, Written(5)),
        ({"outcome": "Written", "size": 4}, Written(4)),
        ({"outcome": "Unchanged"}, Unchanged()),
        ({"outcome": "Held", "reason": "Rolling", "message": "wait"}, Held(HoldReason("Rolling", "wait"))),
        ({"outcome": "Conflict", "message": "it has 4"}, Conflict("it has 4")),
        ({"outcome": "Conflict"}, Conflict("/bin/program found another size than 3")),
    ],
)
def test_a_write_comes_to_the_outcome_that_the_program_names(answer: Any, wanted: object) -> None:
    assert outcome(json.dumps(answer).encode(), CHANGE, "/bin/program") == wanted


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        ('{"error": "NotWritten", "message": "try later"}', TargetNotWritten, "try later"),
        ('{"error": "Refused", "message": "too many"}', TargetRefused, "too many"),
        ('{"error": "Forbidden"}', TargetForbidden, "Forbidden, without a message"),
        ("{}", TargetUnavailable, "found neither; whether the size was written is unknown"),
        ('{"outcome": "Written", "error": "Refused"}', TargetUnavailable, "found both; whether"),
        ('{"outcome": "Done"}', TargetUnavailable, "'Done'"),
        ("ok", TargetUnavailable, "is not JSON; it begins 'ok'; whether the size was written is unknown"),
    ],
)
def test_a_write_without_an_outcome_is_an_error(answer: str, kind: type[TargetError], words: str) -> None:
    """After a wrong answer the size may have been written: policies count it."""
    with pytest.raises(TargetError) as failure:
        outcome(answer.encode(), CHANGE, "/bin/program")
    assert type(failure.value) is kind
    assert words in str(failure.value)
