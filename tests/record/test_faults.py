"""After a failed write, memory and disk agree."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from autoscaler.decide import remember
from autoscaler.errors import StateError
from autoscaler.model import (
    Decision,
    Event,
    History,
    Observed,
    PendingWrite,
    Recommendation,
    ScaleChange,
    ScaleEvent,
    Sighting,
)
from autoscaler.record.ledger import Ledger
from tests.clocks import FakeClock
from tests.decisions import remembering
from tests.record.conftest import Opener, each_database
from tests.record.refused import engine_of, refused
from tests.record.samples import START, at, decision, keep, observation, rising, save, scaler, written
from tests.replaced import replace

ROOT = Path(__file__).parents[2]
FULL = "PRAGMA max_page_count = 1"  # SQLite then reports SQLITE_FULL, as on a full disk
ROOM_AGAIN = "PRAGMA max_page_count = 1000000"
READ_ONLY = "PRAGMA query_only = ON"
WRITABLE = "PRAGMA query_only = OFF"


def pragma(ledger: Ledger, statement: str) -> None:
    """Run a PRAGMA on the connection with which a single thread writes."""
    connection = engine_of(ledger).raw_connection()  # outside a transaction, which a read-only file would refuse
    connection.cursor().execute(statement)
    connection.close()


@pytest.mark.parametrize(
    ("broken", "repaired", "said"), [(FULL, ROOM_AGAIN, "the disk is full"), (READ_ONLY, WRITABLE, "read-only")]
)
def test_a_record_that_fails_leaves_the_intent_unfinished(
    opener: Opener, broken: str, repaired: str, said: str
) -> None:
    """The size was written and its scale event was not. The next cycle must know it, not only the next daemon."""
    ledger = opener.ledger()
    keep(ledger, decision(0))
    before = ledger.recall([scaler()])["web"]
    ledger.intend([rising(15)])
    pragma(ledger, broken)
    with pytest.raises(StateError, match=said):
        save(ledger, written(rising(15)), seen=observation(replicas=2000))
    remembered = ledger.recall([scaler()])["web"]
    assert remembered.pending == PendingWrite(8, 5, at(15))
    assert (remembered.hpa.recommendations, remembered.hpa.scale_ups) == (before.hpa.recommendations, ())
    pragma(ledger, repaired)
    keep(ledger, decision(30))
    expected = remember(scaler(), remembered, decision(30))
    assert ledger.recall([scaler()]) == {"web": expected}
    assert opener.restart().recall([scaler()]) == {"web": expected}


def test_an_intent_that_fails_is_forgotten(opener: Opener) -> None:
    """Nothing was written to the target, so no write is unfinished."""
    ledger = opener.ledger()
    keep(ledger, decision(0))
    before = ledger.recall([scaler()])
    pragma(ledger, READ_ONLY)
    with pytest.raises(StateError, match="read-only"):
        ledger.intend([rising(15)])
    assert ledger.recall([scaler()]) == before


def rising_on(seconds: float) -> Decision:
    """Return a decision at `seconds`: it finds size 8, announced at 15, and is to write 12."""
    event = ScaleEvent(3, at(15))
    change = ScaleChange(f"web-{seconds}", 12, 8, None, "cpu above target")
    own = ScaleEvent(4, at(seconds))
    made = replace(decision(seconds, size=12), current=8, change=change)
    return remembering(made, scale_ups=(event,), scale_event=own)


def test_a_write_that_arrived_is_remembered_when_the_daemon_dies_at_the_next_one(opener: Opener) -> None:
    """The daemon that wrote 8 was killed, and so was the next one, which had announced 12. Policies count both."""
    ledger = opener.ledger()
    keep(ledger, decision(0))
    ledger.recall([scaler()])
    ledger.intend([rising(15)])
    ledger = opener.restart()
    assert ledger.recall([scaler()])["web"].pending == PendingWrite(8, 5, at(15))
    ledger.intend([rising_on(30)])
    ledger = opener.restart()
    remembered = ledger.recall([scaler()])["web"]
    assert (remembered.hpa.scale_ups, remembered.pending) == ((ScaleEvent(3, at(15)),), PendingWrite(12, 8, at(30)))


def test_a_write_that_arrived_keeps_its_age_when_the_wall_clock_is_set(opener: Opener) -> None:
    """It was remembered before the step."""
    clock = FakeClock(START)
    ledger = opener.ledger()
    for _ in range(2):
        ledger.follow_clock(clock.moment())
        keep(ledger, decision((clock.now() - START).total_seconds()))
        clock.advance(15)
    ledger.recall([scaler()])
    ledger.intend([rising(30)])
    clock.advance(15)
    clock.step(3600)
    ledger = opener.restart()
    ledger.follow_clock(clock.moment())
    before = ledger.recall([scaler()])["web"]
    ledger.intend([remembering(rising_on(3645), scale_ups=(ScaleEvent(3, at(3630)),))])
    clock.advance(15)
    ledger = opener.restart()
    ledger.follow_clock(clock.moment())
    remembered = ledger.recall([scaler()])["web"]
    assert remembered.hpa.scale_ups == (ScaleEvent(3, at(3630)),)
    assert remembered.pending == PendingWrite(12, 8, at(3645))
    assert remembered.hpa.recommendations == before.hpa.recommendations


def test_a_write_that_arrived_is_counted_once_if_all_goes_well(opener: Opener) -> None:
    """The cycle that found it and announced another write is recorded."""
    ledger = opener.ledger()
    keep(ledger, decision(0))
    ledger.recall([scaler()])
    ledger.intend([rising(15)])
    ledger = opener.restart()
    ledger.recall([scaler()])
    ledger.intend([rising_on(30)])
    save(ledger, written(rising_on(30)))
    events = (ScaleEvent(3, at(15)), ScaleEvent(4, at(30)))
    assert ledger.recall([scaler()])["web"].hpa.scale_ups == events
    assert opener.restart().recall([scaler()])["web"].hpa.scale_ups == events


@each_database
def test_an_autoscaler_that_could_not_be_created_is_created_later(opener: Opener) -> None:
    """Its row was lost with the failed transaction. An id that only the process remembers would have no row."""
    ledger = opener.ledger()
    with refused(ledger, "INSERT INTO block"):
        keep(ledger, decision(0))
    keep(ledger, decision(15))
    expected = {"web": remember(scaler(), History(), decision(15))}
    assert opener.restart().recall([scaler()]) == expected


@each_database
def test_after_a_commit_that_reports_failure_the_disk_counts(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection can break after the commit reached the server. The memory must then follow the disk."""
    ledger = opener.ledger()
    keep(ledger, decision(0))
    commit: Callable[[Any], None] = engine_of(ledger).dialect.do_commit

    def commit_and_fail(connection: Any) -> None:
        commit(connection)
        raise OperationalError("COMMIT", None, ConnectionResetError("connection lost"))

    ledger.recall([scaler()])
    with monkeypatch.context() as patch:
        patch.setattr(engine_of(ledger).dialect, "do_commit", commit_and_fail)
        with pytest.raises(StateError, match="connection lost"):
            save(ledger, written(rising(15)))
    expected = remember(scaler(), remember(scaler(), History(), decision(0)), written(rising(15)))
    assert ledger.recall([scaler()]) == {"web": expected}
    keep(ledger, decision(30))
    assert [record.decision.now for record in opener.archive().records("web")] == [at(0), at(15), at(30)]


@each_database
@pytest.mark.parametrize("where", ["INSERT INTO block", "UPDATE writer", "UPDATE autoscaler", "INSERT INTO kept"])
def test_a_failed_commit_keeps_no_part(opener: Opener, where: str) -> None:
    """A decision without its addition to the memory, or the reverse, would be wrong."""
    state = opener.state()
    ledger = state.ledger("fleet")
    keep(ledger, decision(0))
    before = ledger.recall([scaler()])
    with refused(ledger, where):
        save(ledger, written(rising(15)), sightings={"i-0": Sighting(at(0), True, at(0))})
    assert ledger.recall([scaler()]) == before
    assert ledger.sightings([scaler().target]) == {}
    archive = opener.archive()
    assert [record.decision for record in archive.records("web")] == [decision(0)]
    assert archive.events("web") == []
    assert state.archive.latest() == archive.latest() == {"web": decision(0)}


def test_two_writes_without_a_record_are_both_unfinished(opener: Opener) -> None:
    """Either may have arrived or may still arrive. Policies count the one that the target shows."""
    ledger = opener.ledger()
    for seconds, size in ((0, 8), (15, 12)):
        ledger.recall([scaler()])
        ledger.intend([rising(seconds, size)])
        with refused(ledger, "INSERT INTO block"):
            save(ledger, written(rising(seconds, size)))
    both = PendingWrite(12, 5, at(15), earlier=PendingWrite(8, 5, at(0)))
    assert ledger.recall([scaler()])["web"].pending == both
    assert opener.restart().recall([scaler()])["web"].pending == both


ODD: dict[str, Callable[[Decision], Decision]] = {
    "a text that is none": lambda made: replace(made, error=object()),
    "a recommendation without a size": lambda made: remembering(made, recommendations=(Recommendation(None, at(15)),)),  # type: ignore[arg-type]  # odd
    "an event of no type": lambda made: replace(made, events=(Event(None, "Odd", ""),)),  # type: ignore[arg-type]  # likewise
    "a time without a zone": lambda made: remembering(made, scale_ups=(ScaleEvent(1, at(15).replace(tzinfo=None)),)),
}
NAMES = ("fine", "odd", "well")


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_a_decision_that_cannot_be_recorded_affects_only_its_own_autoscaler(
    opener: Opener, odd: Callable[[Decision], Decision]
) -> None:
    """The others are committed. Its write stays unfinished, and a later cycle of it is recorded again."""
    ledger = opener.ledger()
    keep(ledger, *(decision(0, name) for name in NAMES))
    before = ledger.recall([scaler(name) for name in NAMES])
    made = [rising(15, name=name) for name in NAMES]
    assert ledger.intend(made) == {}
    concluded = {one.name: written(one) for one in made}
    concluded["odd"] = odd(concluded["odd"])
    broken = ledger.record(
        {name: scaler(name) for name in NAMES},
        Observed(dict.fromkeys(NAMES, observation())),
        list(concluded.values()),
    )
    assert broken.keys() == {"odd"}
    expected = {name: remember(scaler(name), before[name], concluded[name]) for name in ("fine", "well")}
    expected["odd"] = replace(before["odd"], pending=PendingWrite(8, 5, at(15)))
    assert ledger.recall([scaler(name) for name in NAMES]) == expected
    again = opener.restart()
    assert again.recall([scaler(name) for name in NAMES]) == expected
    keep(again, *(decision(30, name) for name in NAMES))
    archive = opener.archive()
    assert [record.decision.now for record in archive.records("fine")] == [at(0), at(15), at(30)]
    assert [record.decision.now for record in archive.records("odd")] == [at(0), at(30)]
    again = opener.restart()
    assert again.recall([scaler("odd")])["odd"] == remember(scaler("odd"), expected["odd"], decision(30, "odd"))


@each_database
def test_a_size_that_no_database_can_store_is_not_written(opener: Opener) -> None:
    """Its intent cannot be stored, so the write would be unknown. The intents of the others are stored."""
    ledger = opener.ledger()
    keep(ledger, *(decision(0, name) for name in NAMES))
    ledger.recall([scaler(name) for name in NAMES])
    broken = ledger.intend([rising(15, 2**70 if name == "odd" else 8, name) for name in NAMES])
    assert broken.keys() == {"odd"}
    found = opener.restart().recall([scaler(name) for name in NAMES])
    open_now = {name: history.pending and history.pending.size for name, history in found.items()}
    assert open_now == {"fine": 8, "odd": None, "well": 8}
