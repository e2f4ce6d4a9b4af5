from datetime import timedelta

from autoscaler.model import History
from autoscaler.observe import Sighting
from autoscaler.record import Store
from tests.record.conftest import Opener
from tests.record.samples import at, decision, event, keep, scaler

KEEP = timedelta(hours=2)
PAST = (KEEP + timedelta(hours=1)).total_seconds()
"""Seconds after which nothing of a decision is needed: later ones are packed against it for an hour."""


def count(store: Store, name: str = "web") -> int:
    return len(store.series(name))


def test_decisions_and_events_past_the_retention_are_deleted(opener: Opener) -> None:
    """A disk is finite; events belong to their decisions."""
    store = opener.store(KEEP)
    keep(store, decision(0, events=[event()]))
    keep(store, decision(PAST + 1, events=[event()]))
    assert [row.at for row in store.series("web")] == [at(PAST + 1)]
    assert [row.count for row in store.events("web")] == [1]


def test_decisions_within_the_retention_stay_readable(opener: Opener) -> None:
    """Each is packed against an older one, which therefore has to stay as long."""
    store = opener.store(KEEP)
    for minutes in range(0, 60 * 6, 7):
        keep(store, decision(minutes * 60))
        oldest = max(0, minutes * 60 - KEEP.total_seconds())
        made = store.decisions("web", since=at(oldest), limit=1000)
        assert [one.now for one in reversed(made)] == [at(m * 60) for m in range(0, minutes + 1, 7) if m * 60 >= oldest]


def test_a_little_is_deleted_at_a_time_until_all_is(opener: Opener) -> None:
    """A retention made shorter must not hold up a cycle with a million deletions."""
    store = opener.store(timedelta(days=1))
    names = [f"s{k}" for k in range(700)]
    for seconds in (0, 1, 2):
        keep(store, *(decision(seconds, name) for name in names))
    store.set_retention(KEEP)

    def left() -> int:
        return sum(count(store, name) for name in ("s0", "s350", "s699"))

    keep(store, decision(PAST + 60))
    after_one = left()
    keep(store, decision(PAST + 75))
    keep(store, decision(PAST + 90))
    assert 0 < after_one < 9
    assert left() == 0


def test_nothing_is_looked_for_in_every_cycle(opener: Opener) -> None:
    """A look a minute is enough when there is nothing to do."""
    store = opener.store(KEEP)
    keep(store, decision(0))
    keep(store, decision(PAST - 10))
    keep(store, decision(PAST + 10))
    assert count(store) == 3
    keep(store, decision(PAST + 50))
    assert count(store) == 3
    keep(store, decision(PAST + 71))
    assert count(store) == 4


def test_an_autoscaler_that_left_is_remembered_for_the_retention(opener: Opener) -> None:
    """Taken out of the file by mistake and put back: its windows are as they were."""
    store = opener.store(KEEP)
    keep(store, decision(0, "left"), decision(0, "stays"))
    remembered = store.recall([scaler("left")])
    opener.close()
    store = opener.store(KEEP)
    keep(store, decision(PAST - 10, "stays"))
    assert store.recall([scaler("left")]) == remembered


def test_an_autoscaler_that_left_is_forgotten_after_the_retention(opener: Opener) -> None:
    """All of it: its row, its recommendations and scale events, what was seen of its target."""
    store = opener.store(KEEP)
    keep(store, decision(0, "left", "left-asg"), decision(0, "stays"))
    targets = [scaler("left", "left-asg").target, scaler("stays").target]
    store.sightings(Sighting).save({target: {"i-0": Sighting(at(0), None, at(0))} for target in targets})
    opener.close()
    store = opener.store(KEEP)
    keep(store, decision(PAST + 10, "stays"))
    assert "left" not in store.latest()
    opener.close()
    store = opener.store(KEEP)
    assert store.recall([scaler("left", "left-asg")]) == {"left": History()}
    assert set(store.sightings(Sighting).load(targets)) == {scaler("stays").target}
    assert opener.archive().latest().keys() == {"stays"}


def test_one_that_is_still_configured_is_not_forgotten_by_another_lane(opener: Opener) -> None:
    """After a long standstill one lane's first cycle ends before another's."""
    store = opener.store(KEEP)
    keep(store, decision(0, "slow"), decision(0, "fast"))
    opener.close()
    store = opener.store(KEEP)
    remembered = store.recall([scaler("slow")])
    keep(store, decision(PAST + 10, "fast"))
    assert store.recall([scaler("slow")]) == remembered
    keep(store, decision(PAST + 20, "slow"))
    opener.close()
    assert len(opener.store(KEEP).decisions("slow")) == 1
