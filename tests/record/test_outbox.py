"""Notices that wait in the state, on SQLite and on PostgreSQL."""

from datetime import timedelta

import pytest
from sqlalchemy import insert

from autoscaler.model import Notice, NoticeType, Observed
from autoscaler.moment import Moment
from autoscaler.record import schema
from autoscaler.record.outbox import Outbox, Waiting, rows_of
from autoscaler.record.state import State
from tests.decisions import remembering
from tests.record.conftest import Opener, each_database
from tests.record.hosts import Hosts, two
from tests.record.samples import FLEET, at, decision, observation, scaler
from tests.replaced import replace

DAY = 86_400.0


def moment(seconds: float, step: timedelta = timedelta(0), boot: str = "boot") -> Moment:
    """Return the moment so long after the first, with a wall clock that was set by `step` meanwhile."""
    return Moment(at(seconds) + step, boot, timedelta(seconds=seconds + DAY))


def notice(subject: str) -> Notice:
    return Notice(NoticeType.TEST, subject, "a test")


def drained(outbox: Outbox) -> list[str]:
    """Send all, and return whom they are of."""
    found: list[Waiting] = []

    def send(waiting: Waiting) -> bool:
        found.append(waiting)
        return True

    while outbox.send_oldest(send):
        pass
    return [each.notice.subject for each in found]


def record(state: State, seconds: float, *, failing: bool) -> None:
    ledger, made = state.ledger(FLEET), decision(seconds)
    if failing:
        failed = tuple([replace(each, error="no answer", proposal=None) for each in made.remembered.status.metrics])
        status = replace(made.remembered.status, metrics=failed)
        made = remembering(replace(made, metrics=failed, error="1 of 1 failed"), status=status)
    ledger.recall([scaler()])
    ledger.record({"web": scaler()}, Observed({"web": observation()}, {}), [made])


def test_a_decision_and_its_notices_are_committed_together(opener: Opener) -> None:
    """And only where somebody is to be told."""
    state = opener.state()
    record(state, 0, failing=True)
    assert drained(state.outbox) == []
    record(state, 15, failing=False)
    state.outbox.open = True
    record(state, 30, failing=True)
    record(state, 45, failing=True)
    opener.close()
    assert drained(opener.state().outbox) == ["web"]


def test_the_oldest_notice_is_sent_first(opener: Opener) -> None:
    outbox = opener.state().outbox
    for seconds in (30, 0, 15):
        outbox.add([notice(f"of {seconds}")], moment(seconds))
    assert drained(outbox) == ["of 0", "of 15", "of 30"]


def test_a_notice_that_is_not_taken_stays_with_its_id(opener: Opener) -> None:
    """By the id the receiver knows it again, also after a daemon that was killed between sending and noting it."""
    tries = list[Waiting]()

    def fails(waiting: Waiting) -> bool:
        tries.append(waiting)
        return False

    def is_killed(waiting: Waiting) -> bool:
        tries.append(waiting)
        raise KeyboardInterrupt

    opener.state().outbox.add([notice("web")], moment(0))
    opener.close()
    assert not opener.state().outbox.send_oldest(fails)
    opener.close()
    with pytest.raises(KeyboardInterrupt):
        opener.state().outbox.send_oldest(is_killed)
    opener.close()
    assert not opener.state().outbox.send_oldest(fails)
    assert len({each.id for each in tries}) == 1
    assert len(tries) == 3


def test_a_full_outbox_loses_its_oldest_notices(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """A receiver that is gone for weeks does not fill the state."""
    monkeypatch.setattr("autoscaler.record.outbox.MAX_WAITING", 50)
    outbox = opener.state().outbox
    outbox.add([notice(f"{number}") for number in range(50)], moment(0))
    outbox.add([notice("newest")], moment(1))
    assert outbox.trim(moment(2)) == 1
    found = drained(outbox)
    assert (len(found), found[-1]) == (50, "newest")


@each_database
def test_a_notice_of_yesterday_is_not_sent(opener: Opener) -> None:
    outbox = opener.state().outbox
    outbox.add([notice("old")], moment(0))
    outbox.add([notice("new")], moment(60))
    assert outbox.trim(moment(30 + DAY)) == 1
    assert drained(outbox) == ["new"]


@pytest.mark.parametrize("step", [timedelta(days=30), timedelta(days=1), timedelta(hours=-1), timedelta(days=-30)])
def test_a_step_of_the_wall_clock_makes_no_notice_old(opener: Opener, step: timedelta) -> None:
    """Notices of a failure that lasts would be lost when the clock is set, and after a step back they would stay."""
    outbox = opener.state().outbox
    outbox.add([notice("before")], moment(0))
    assert outbox.trim(moment(60, step)) == 0
    outbox.add([notice("after")], moment(60, step))
    assert outbox.trim(moment(30 + DAY, step)) == 1
    assert drained(outbox) == ["after"]


@pytest.mark.parametrize(("days", "gone"), [(0.5, 0), (1.5, 1)])
def test_after_a_boot_the_wall_clock_says_how_old_a_notice_is(opener: Opener, days: float, gone: int) -> None:
    """The other clock begins anew."""
    outbox = opener.state().outbox
    outbox.add([notice("web")], moment(0))
    assert outbox.trim(moment(days * DAY, boot="next")) == gone


def test_a_damaged_notice_holds_up_no_other(opener: Opener) -> None:
    state = opener.state()
    with state.outbox._database.writing() as connection:
        connection.execute(insert(schema.notice), {**rows_of([notice("web")], moment(0))[0], "body": b"\xff"})
    state.outbox.add([notice("web")], moment(0))
    assert drained(state.outbox) == ["web"]


@pytest.mark.slow
def test_a_successor_sends_what_the_former_leader_has_not_sent(hosts: Hosts) -> None:
    """That one was killed while it sent. A receiver knows the second arrival by the notice's id."""
    first, second = two(hosts)
    first.state.outbox.add([notice("web"), notice("api")], moment(0))
    seen = list[str]()

    def killed(waiting: Waiting) -> bool:
        seen.append(waiting.id)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        first.state.outbox.send_oldest(killed)
    hosts.fail_over(first, second)

    def send(waiting: Waiting) -> bool:
        seen.append(waiting.id)
        return True

    while second.state.outbox.send_oldest(send):
        pass
    assert seen[0] == seen[1]
    assert len({*seen}) == 2
