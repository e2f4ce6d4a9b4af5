"""Every recorded cycle can be decided again, bit for bit, from the state alone."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import pytest

from autoscaler.decide import decide, remember
from autoscaler.model import (
    Decision,
    Direction,
    Failure,
    History,
    ManualControls,
    Observation,
    Observed,
    Pause,
    TargetState,
)
from autoscaler.record.archive import Archive
from autoscaler.record.ledger import Ledger
from autoscaler.rules.brakes import active_brakes
from autoscaler.rules.brakes.common import Brake
from autoscaler.rules.fallback import Fallbacks
from autoscaler.rules.idle import IDLE
from tests.decide.build import QUEUE_15
from tests.decide.build import scaler as queue_scaler
from tests.record.conftest import Opener
from tests.record.deciding_again import comparable, decided_again
from tests.record.fleet import LONG, SHORT, Fleet
from tests.record.samples import FLEET, at, count_blocks, scaler
from tests.replaced import replace
from tests.steering import steer
from tests.view.lives import Recorded, named


def check(archive: Archive, name: str, made: Sequence[Decision], since: datetime | None = None) -> None:
    """Assert that the records give exactly these decisions, in order."""
    records = list(archive.records(name, since))
    assert [comparable(record.decision) for record in records] == [comparable(each) for each in made]
    for record in records:
        assert comparable(decided_again(record)) == comparable(record.decision)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_decisions_of_an_eventful_life_can_be_repeated(
    sqlite_opener: Opener, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Restarts, failed commits, writes without an outcome, set clocks, pauses, reloads, two periods.

    With drains, idleness, brakes and fallbacks.
    """
    monkeypatch.setattr("autoscaler.record.packing.PAGES_PER_BLOCK", 12)
    fleet = Fleet(sqlite_opener, seed)
    for tick in range(160):
        fleet.clock.advance(SHORT.total_seconds())
        fleet.happen()
        fleet.cycle(SHORT)
        if tick % 4 == 0:
            fleet.cycle(LONG)
    archive = fleet.opener.archive()
    assert sum(map(len, fleet.made.values())) > 150
    whole = [each for made in fleet.made.values() for each in made]
    assert any(step.reason == IDLE for each in whole for step in each.trace)
    assert Brake.OUTSIDE_CHANGE in {on.brake for each in whole for on in active_brakes(each.remembered.rules.of)}
    assert (Fallbacks.condition, True) in {(on.type, on.status) for each in whole for on in each.conditions}
    for name, made in fleet.made.items():
        check(archive, name, made)
        for each in fleet.random.sample(made, min(8, len(made))):
            record = archive.record_at(name, each.now)
            assert record is not None
            last = [other for other in made if other.now <= each.now][-1]
            assert comparable(decided_again(record)) == comparable(last)


@pytest.mark.slow
def test_more_than_an_hour_is_packed_and_decided_again(opener: Opener) -> None:
    """With blocks of their usual length, of autoscalers that leave and stay, on SQLite and PostgreSQL."""
    fleet = Fleet(opener, 7)
    while len(fleet.made["a"]) < 260:  # some cycles are never recorded
        fleet.clock.advance(SHORT.total_seconds())
        if len(fleet.made["a"]) == 100:
            fleet.away = {"b"}
            fleet.follow()
        fleet.cycle(SHORT)
    archive = opener.archive()
    assert count_blocks(fleet.ledger, packed=True) >= 2
    assert [bool(fleet.made[name]) for name in "abcd"] == [True, True, True, False]
    for name, made in fleet.made.items():
        check(archive, name, made)


class Plain:
    """Autoscalers at rest, whose numbers show which cycle is whose."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.histories: dict[str, History] = {}
        self.made: dict[str, list[Decision]] = {}

    def cycle(self, seconds: float, scalers: Mapping[str, timedelta]) -> None:
        """Run a cycle of these autoscalers, each with its sync period."""
        batch = [replace(scaler(name, name), sync_period=period) for name, period in scalers.items()]
        histories = self.ledger.recall(batch)
        seen = {one.name: Observation(TargetState(5, 5, ()), (Failure(f"at {seconds}"),)) for one in batch}
        made = [decide(one, seen[one.name], histories[one.name], at(seconds)) for one in batch]
        self.ledger.record({one.name: one for one in batch}, Observed(seen), made)
        self.ledger._context.housekeeper.tidy(at(seconds))
        for one, each in zip(batch, made, strict=True):
            assert histories[one.name] == self.histories.get(one.name, History())
            self.histories[one.name] = remember(one, histories[one.name], each)
            self.made.setdefault(one.name, []).append(each)


@pytest.mark.usefixtures("short_blocks")
def test_the_last_decision_of_a_removed_autoscaler_can_be_repeated(opener: Opener) -> None:
    """The others continue, and its page is packed."""
    fleet = Plain(opener.ledger())
    for cycle in range(3):
        fleet.cycle(15 * cycle, {"leaves": SHORT, "stays": SHORT})
    for cycle in range(3, 20):
        fleet.cycle(15 * cycle, {"stays": SHORT})
        check(opener.archive(), "leaves", fleet.made["leaves"])
    last = opener.archive().record_at("leaves")
    assert last is not None
    assert decided_again(last) == fleet.made["leaves"][-1]


@pytest.mark.usefixtures("short_blocks")
def test_an_autoscaler_that_returns_continues_from_its_memory(opener: Opener) -> None:
    """Its memory was kept in a copy meanwhile."""
    fleet = Plain(opener.ledger())
    for cycle in range(30):
        here = {"stays": SHORT} if 3 <= cycle < 12 or 20 <= cycle < 22 else {"leaves": SHORT, "stays": SHORT}
        fleet.cycle(15 * cycle, here)
        if cycle == 8:
            fleet.ledger = opener.restart()
    for name in ("leaves", "stays"):
        check(opener.archive(), name, fleet.made[name])


@pytest.mark.usefixtures("short_blocks")
def test_cycles_of_several_sync_periods_are_read_in_the_order_of_their_commits(opener: Opener) -> None:
    """Pages of an unused period stay."""
    fleet = Plain(opener.ledger())
    for cycle in range(24):
        fleet.cycle(15 * cycle, {"web": LONG if 3 <= cycle < 9 or cycle >= 14 else SHORT})
    archive = opener.archive()
    check(archive, "web", fleet.made["web"])
    assert [row.at for row in archive.series("web")] == sorted(row.at for row in archive.series("web"))
    for made in fleet.made["web"]:
        record = archive.record_at("web", made.now)
        assert record is not None
        assert decided_again(record) == made


@pytest.mark.usefixtures("short_blocks")
def test_an_autoscaler_may_change_its_period_while_its_page_is_packed(opener: Opener) -> None:
    """Its newest row is in a packed page, its next row in a page of another period."""
    fleet = Plain(opener.ledger())
    for cycle in range(12):
        period = SHORT if cycle < 4 else LONG
        fleet.cycle(15 * cycle, {"stays": SHORT, "web": period})
    for name in ("web", "stays"):
        check(opener.archive(), name, fleet.made[name])
    ledger = opener.restart()
    assert ledger.recall([scaler("web", "web")])["web"] == fleet.histories["web"]


def test_a_decision_at_the_end_of_a_pause_can_be_repeated(sqlite_opener: Opener) -> None:
    """The pause is part of the memory, also in the cycle after its end."""
    state = sqlite_opener.state()
    life = Recorded(state.ledger(FLEET), named(queue_scaler(QUEUE_15), "web"), size=50)  # incomplete rows
    made = [life.queue(750)]
    steer(state, "web", ManualControls(Pause(Direction.BOTH, "ann", "", life.now, life.now + timedelta(seconds=40))))
    made += [life.queue(750) for _ in range(5)]
    assert [each.reason for one in made for each in one.events] == ["PauseEnded"]
    check(state.archive, "web", made)
