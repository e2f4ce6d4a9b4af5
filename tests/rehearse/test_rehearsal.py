"""Rows of the rehearsal of several hosts fail if nothing happened."""

from rehearse.hosts.life import Outcome
from rehearse.hosts.rehearsal import _of_all, _of_kind
from rehearse.hosts.verdict import Judged


def outcome(kind: str) -> Outcome:
    """Return an outcome of three runs without any note."""
    nothing = Judged(accepted=0, refused=0, late=(), broken=())
    return Outcome(kind=kind, runs=3, takeovers=(), stuck=(), compared=nothing, uncompared=nothing)


def test_a_promise_about_writes_fails_without_any_write() -> None:
    """Otherwise a back end that refuses everything, or a recorder that notes nothing, would keep each promise."""
    found = {row.promised: row.ok for row in _of_all([outcome("kill -9")])}
    assert [promised for promised, ok in found.items() if ok] == [
        "a write whose outcome was not recorded is settled by who takes over, and no other is"
    ]


def test_a_promise_about_takeovers_fails_without_a_takeover() -> None:
    """Only if the database or all daemons begin anew there is none."""
    assert not _of_kind(outcome("kill -9"), 6).ok
    assert _of_kind(outcome("database restarted"), 6).ok
