"""What an autoscaler that left the configuration leaves in memory: nothing. Its rows stay for `state.retention`.

A team that renames its autoscalers fifty times a second filled a gigabyte in hours.
"""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from autoscaler.record import archive as archives
from autoscaler.record.entries import Key
from autoscaler.record.housekeeping import Retention
from autoscaler.record.newest import Newest
from tests.record.conftest import Opener, each_database
from tests.record.samples import at, decision, keep, scaler


def names(kept: Mapping[Key, Newest]) -> set[str]:
    """Return the names of the autoscalers with these decisions."""
    return {newest.decision.name for newest in kept.values()}


@each_database
def test_a_name_that_left_is_kept_in_the_state_alone(opener: Opener) -> None:
    """Readers still list it and its history."""
    state = opener.state()
    ledger = state.ledger("fleet")
    for number in range(30):
        mine = scaler(f"web{number}")
        state.follow(Retention(), [mine])
        ledger.follow([mine])
        keep(ledger, decision(15.0 * number, mine.name), scalers=[mine])
        assert names(state._context.latest) == {mine.name}
    assert state.archive.latest().keys() == {f"web{number}" for number in range(30)}
    assert names(state._context.latest) == {"web29"}
    assert names(state.archive._of_others) == set()
    assert state.archive.knows("web3")


def test_names_of_a_shard_that_is_gone_leave_with_the_next_housekeeping(opener: Opener) -> None:
    """No ledger follows a connection that was removed."""
    state = opener.state()
    keep(state.ledger("fleet"), decision(0))
    state.follow(Retention(), [scaler("other")])
    state.tidy(at(60))
    assert state._context.latest == {}
    assert state.archive.latest().keys() == {"web"}


def test_a_list_has_the_names_that_left_last(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise each page would read what every name of the last thirty days has left."""
    monkeypatch.setattr(archives, "_MAX_LEFT", 3)
    state = opener.state(Retention(timedelta(days=2), timedelta(days=30)))
    ledger = state.ledger("fleet")
    for number in range(8):
        mine = scaler(f"web{number}")
        state.follow(Retention(), [mine])
        ledger.follow([mine])
        keep(ledger, decision(15.0 * number, mine.name), scalers=[mine])
    assert state.archive.latest().keys() == {"web7", "web6", "web5", "web4"}
    assert state.archive.knows("web0")
