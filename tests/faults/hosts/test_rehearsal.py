"""What the rows of the rehearsal of several hosts say where nothing happened."""

from tests.faults.hosts.life import Outcome
from tests.faults.hosts.rehearsal import _of_all, _of_kind
from tests.faults.hosts.verdict import Judged


def outcome(kind: str) -> Outcome:
    """Three runs, of which nothing was noted."""
    nothing = Judged(accepted=0, refused=0, late=(), broken=())
    return Outcome(kind=kind, runs=3, takeovers=(), stuck=(), compared=nothing, uncompared=nothing)


def test_a_promise_of_writes_or_decisions_is_not_kept_by_none_at_all() -> None:
    """A back end that refuses everything, or a recorder that notes nothing, would keep each of them."""
    found = {row.promised: row.ok for row in _of_all([outcome("kill -9")])}
    assert [promised for promised, ok in found.items() if ok] == [
        "a write whose outcome was not recorded is settled by who takes over, and no other is"
    ]


def test_a_takeover_that_was_not_seen_was_not_in_time() -> None:
    """Only where the database or all daemons begin anew there is none to be seen."""
    assert not _of_kind(outcome("kill -9"), 6).ok
    assert _of_kind(outcome("database restarted"), 6).ok
