"""Every recorded cycle can be decided again, bit for bit, from the state alone."""

from collections.abc import Sequence

import pytest

from autoscaler.model import Decision
from autoscaler.record.archive import Archive
from autoscaler.rules.brakes import active_brakes
from autoscaler.rules.brakes.common import Brake
from autoscaler.rules.fallback import Fallbacks
from autoscaler.rules.idle import IDLE
from tests.record.conftest import Opener
from tests.record.deciding_again import comparable, decided_again
from tests.record.fleet import LONG, SHORT, Fleet


def check(archive: Archive, name: str, made: Sequence[Decision]) -> None:
    """Assert that the records give exactly these decisions, in order."""
    records = list(archive.records(name))
    assert [comparable(record.decision) for record in records] == [comparable(each) for each in made]
    for record in records:
        assert comparable(decided_again(record)) == comparable(record.decision)


@pytest.mark.parametrize(
    ("url", "seed"),
    [
        ("sqlite", 0),
        pytest.param("sqlite", 1, marks=pytest.mark.slow),
        pytest.param("postgresql", 2, marks=pytest.mark.slow),
    ],
    indirect=["url"],
)
def test_decisions_of_an_eventful_life_can_be_repeated(
    opener: Opener, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Restarts, failed commits, writes without an outcome, set clocks, pauses, reloads, two periods.

    With drains, idleness, brakes and fallbacks.
    """
    monkeypatch.setattr("autoscaler.record.packing.PAGES_PER_BLOCK", 12)
    fleet = Fleet(opener, seed)
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
    assert "PauseEnded" in {event.reason for each in whole for event in each.events}
    for name, made in fleet.made.items():
        check(archive, name, made)
        for each in fleet.random.sample(made, min(8, len(made))):
            record = archive.record_at(name, each.now)
            assert record is not None
            last = [other for other in made if other.now <= each.now][-1]
            assert comparable(decided_again(record)) == comparable(last)
