"""Pauses and overrides last until their end and reach every shard."""

import threading
from collections.abc import Mapping
from datetime import timedelta

import pytest
from msgspec.structs import replace
from sqlalchemy import select

from autoscaler.errors import StateError
from autoscaler.model import Direction, Event, ManualControls, Override, Pause
from autoscaler.record import database, schema
from autoscaler.record.database import Database
from autoscaler.record.state import State
from autoscaler.record.steering import change_steering
from tests.record.conftest import Opener, each_database, in_threads
from tests.record.samples import FLEET, START, at, decision, event, keep, scaler
from tests.steering import steer

PAUSED = ManualControls(pause=Pause(Direction.IN, "ann", "load test", START, START + timedelta(hours=2)))
WIDENED = ManualControls(override=Override(None, 50, "bob", "sale", START, None))


def test_a_pause_survives_a_restart(opener: Opener) -> None:
    steer(opener.state(), "web", PAUSED)
    ledger = opener.restart()
    assert opener.archive().steering() == {"web": PAUSED}
    assert ledger.recall([scaler()])["web"].manual == PAUSED


def test_a_resumed_autoscaler_has_no_pause(opener: Opener) -> None:
    state = opener.state()
    steer(state, "web", PAUSED)
    steer(state, "web", ManualControls())
    assert state.archive.steering() == {}
    assert opener.restart().recall([scaler()])["web"].manual == ManualControls()


def test_the_next_cycle_knows_of_a_pause(opener: Opener) -> None:
    """This holds for an autoscaler with decisions and for one without. No other autoscaler is affected."""
    state = opener.state()
    ledger = state.ledger(FLEET)
    keep(ledger, decision(0, "old"), decision(0, "other"))
    steer(state, "old", PAUSED)
    steer(state, "new", WIDENED)
    recalled = ledger.recall([scaler("old"), scaler("new"), scaler("other")])
    assert {name: history.manual for name, history in recalled.items()} == {
        "old": PAUSED,
        "new": WIDENED,
        "other": ManualControls(),
    }


@each_database
def test_a_pause_from_another_process_reaches_the_next_cycle(opener: Opener) -> None:
    """An operator may reach any daemon of the fleet. Here it is a process with its own connections."""
    ledger = opener.ledger()
    keep(ledger, decision(0))
    other = Database(database.locate(opener.url, opener.folder))
    try:
        for asked in (PAUSED, WIDENED, ManualControls()):
            steer(other, "web", asked)
            assert ledger.recall([scaler()])["web"].manual == asked
    finally:
        other.close()


@each_database
def test_a_pause_and_an_override_from_two_hosts_at_once_are_both_kept(opener: Opener) -> None:
    """Each host read, completed and wrote the whole row, so the later one lost the other. Here one comes in between."""
    state = opener.state()
    other = Database(database.locate(opener.url, opener.folder))
    began, inside = threading.Event(), threading.Event()

    def widened(known: Mapping[str, ManualControls]) -> Mapping[str, ManualControls]:
        inside.set()
        return {"web": replace(known.get("web", ManualControls()), override=WIDENED.override)}

    def widen() -> None:
        began.set()
        change_steering(other, widened, lambda *_: None, START)

    def paused(known: Mapping[str, ManualControls]) -> Mapping[str, ManualControls]:
        widening.__enter__()
        assert began.wait(60)
        assert not inside.wait(0.3)  # it waits for this one
        return {"web": replace(known.get("web", ManualControls()), pause=PAUSED.pause)}

    widening = in_threads([widen])
    state.change_steering(paused, lambda *_: None, START)
    widening.__exit__(None, None, None)
    assert state.archive.steering() == {"web": ManualControls(PAUSED.pause, WIDENED.override)}
    other.close()


def asked(opener_state: State, seconds: float, message: str, *names: str) -> None:
    """Pause these autoscalers, with an event."""
    told = event("Paused", message)
    opener_state.change_steering(lambda _: dict.fromkeys(names, PAUSED), lambda *_: told, at(seconds))


@each_database
def test_the_event_of_a_pause_is_between_those_of_the_cycles(opener: Opener) -> None:
    """Its place does not depend on the events of the cycles before and after it."""
    state = opener.state()
    ledger = state.ledger(FLEET)
    keep(ledger, decision(0, events=[event(message="New size: 8"), event(message="New size: 9")]))
    asked(state, 5, "ann paused", "web")
    asked(state, 6, "bob paused", "web")
    keep(ledger, decision(15, events=[event(message="New size: 10")]))
    shown = ["New size: 8", "New size: 9", "ann paused", "bob paused", "New size: 10"]
    assert [row.message for row in state.archive.events("web")] == shown
    opener.restart()
    found = opener.archive().events("web")
    assert [(row.message, row.last) for row in found[2:4]] == [("ann paused", at(5)), ("bob paused", at(6))]


def test_the_event_of_a_pause_is_about_the_present_target(opener: Opener) -> None:
    """An autoscaler with a new target keeps the events of both; one without a decision has none."""
    state = opener.state()
    ledger = state.ledger(FLEET)
    keep(ledger, decision(0, target="old-asg"))
    keep(ledger, decision(15, target="new-asg"))
    asked(state, 20, "ann paused", "web", "never-decided")
    assert [(row.name, row.message) for row in state.archive.events()] == [("web", "ann paused")]
    with state._database.writing() as connection:
        rows = connection.execute(select(schema.event.c.autoscaler_id)).scalars().all()
        owner = connection.execute(
            select(schema.autoscaler.c.id).where(schema.autoscaler.c.target.contains("new-asg"))
        ).scalar_one()
    assert rows == [owner]


def test_a_failed_pause_has_no_event(opener: Opener) -> None:
    """Both are one transaction."""
    state = opener.state()
    keep(state.ledger(FLEET), decision(0))

    def odd(_before: ManualControls, _after: ManualControls) -> Event:
        raise StateError("the database is gone")

    with pytest.raises(StateError):
        state.change_steering(lambda _: {"web": PAUSED}, odd, at(5))
    assert state.archive.steering() == {}
    assert list(state.archive.events()) == []
