"""The judge of the rehearsals of several hosts finds violations and excuses one kind."""

from collections.abc import Sequence

import pytest

from rehearse.hosts.audit import Commit, Lead
from rehearse.hosts.recorder import Order, Write
from rehearse.hosts.verdict import (
    Announced,
    Judged,
    Look,
    Noted,
    commits_without_lead,
    judge_writes,
)

pytestmark = pytest.mark.slow

TARGET = "aws/oak"


def announced(at: int, start: int, size: int, host: int = 0) -> Announced:
    return Announced("oak", TARGET, size, start, at, at, f"process-{host}", host)


def write(size: int, at: int, host: int = 0, *, checked: int | None = -1, effect: int | None = None) -> Write:
    """Return a write that was sent at `at`, checked just before or at `checked`, and took effect at `effect`."""
    done = at + 3 if effect is None else effect
    noted = at - 1 if checked == -1 else checked
    order = Order(TARGET, size, None)
    return Write(host, order, at, noted, at - 2, forwarded=done - 1, status=200, answered=done)


def judged(writes: Sequence[Write], decisions: Sequence[Announced], takeovers: Sequence[Lead] = ()) -> Judged:
    noted = Noted(writes, decisions, [_lead(0, 0), *takeovers], [Look(TARGET, 2, 0, 1)])
    return judge_writes(noted, compares=False)[0]


def _lead(host: int, at: int) -> Lead:
    return Lead(f"process-{host}", f"vm, pid {host}", at - 1, at)


TAKEN = _lead(1, 100)


def test_writes_in_time_have_no_finding() -> None:
    found = judged([write(4, 15), write(5, 115, host=1)], [announced(10, 2, 4), announced(110, 4, 5, host=1)], [TAKEN])
    assert (found.accepted, found.late, found.broken) == (2, [], [])


def test_a_request_that_was_checked_in_time_and_arrived_late_is_excused() -> None:
    """The successor set 5 from 2. Then 4 arrives, and the next decision is from 4."""
    writes = [write(4, 15, effect=150), write(5, 115, host=1), write(6, 215, host=1)]
    decisions = [announced(10, 2, 4), announced(110, 2, 5, host=1), announced(210, 4, 6, host=1)]
    found = judged(writes, decisions, [TAKEN])
    assert (len(found.late), found.broken) == (1, [])


def test_a_daemon_that_was_stopped_between_its_check_and_its_request_is_excused() -> None:
    writes = [write(5, 115, host=1), write(4, 140, checked=15)]
    found = judged(writes, [announced(10, 2, 4), announced(110, 2, 5, host=1)], [TAKEN])
    assert (len(found.late), found.broken) == (1, [])


@pytest.mark.parametrize("checked", [None, 5, 139])
def test_a_daemon_that_was_stopped_before_its_check_is_not_excused(checked: int | None) -> None:
    """It did not check, checked before its intent, or wrote despite its check."""
    writes = [write(5, 115, host=1), write(4, 140, checked=checked)]
    found = judged(writes, [announced(10, 2, 4), announced(110, 2, 5, host=1)], [TAKEN])
    assert found.late == []
    assert "sent without a check" in found.broken[0]


def test_a_request_without_a_check_is_found_even_without_another_write() -> None:
    """It did no harm only by chance."""
    (said,) = judged([write(4, 140, checked=139)], [announced(10, 2, 4)], [TAKEN]).broken
    assert "sent without a check" in said


def test_a_decision_from_a_size_that_was_never_set_is_found() -> None:
    """Such a decision uses a size that only the adapter remembers."""
    (said,) = judged([write(6, 115)], [announced(10, 2, 4), announced(110, 4, 6)]).broken
    assert said.startswith("aws/oak: illegal")


def test_a_late_request_excuses_no_other_write() -> None:
    """Its neighbours in time are judged, except a write whose read came before it and whose effect came after it."""
    late, decisions = write(4, 15, effect=150), [announced(10, 2, 4)]
    before = judged([late, write(5, 115, host=1)], [*decisions, announced(110, 3, 5, host=1)], [TAKEN])
    after = judged([late, write(5, 215, host=1)], [*decisions, announced(210, 2, 5, host=1)], [TAKEN])
    across = judged([late, write(5, 151, host=1)], [*decisions, announced(145, 2, 5, host=1)], [TAKEN])
    assert [len(found.broken) for found in (before, after, across)] == [1, 1, 0]


def test_a_write_without_an_intent_is_found() -> None:
    (said,) = judged([write(4, 15, host=1)], [announced(10, 2, 4)]).broken
    assert "no commit of its daemon announced it" in said


def test_a_write_that_was_announced_after_a_takeover_is_found() -> None:
    """Sizes and checks may be right, by chance."""
    (said,) = judged([write(4, 115)], [announced(110, 2, 4)], [TAKEN]).broken
    assert "its daemon did not lead" in said


def test_a_commit_of_a_daemon_that_leads_no_more_is_found() -> None:
    """Also of one that leads again later: its commits before its own takeover are another's to judge."""
    leads = [_lead(0, 10), TAKEN, _lead(0, 200)]
    right = [Commit("oak", "process-0", 15), Commit("oak", "process-1", 100), Commit("oak", "process-0", 201)]
    assert list(commits_without_lead(right, leads)) == []
    wrong = [Commit("oak", "process-0", 5), Commit("elm", "process-0", 150), Commit("fir", None, 210)]
    assert len(list(commits_without_lead(wrong, leads))) == 3


def test_a_decision_that_was_written_twice_is_found() -> None:
    found = judged([write(4, 15), write(4, 25)], [announced(10, 2, 4)]).broken
    assert any("the same decision was written before" in each for each in found)
