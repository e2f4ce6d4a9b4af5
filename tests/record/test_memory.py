"""The next cycle remembers the same from the process' memory as from the state."""

from autoscaler.errors import TargetUnavailable
from autoscaler.model import Direction, History, ManualControls, Pause, PendingWrite
from autoscaler.target.scaled import AS_WRITTEN
from tests.decisions import remembering
from tests.record.conftest import Opener, each_database
from tests.record.samples import FLEET, START, at, decision, keep, observation, rising, save, scaler, written
from tests.replaced import replace
from tests.steering import steer


def test_an_intent_stays_while_the_target_cannot_be_read(opener: Opener) -> None:
    """It is unknown whether the write happened. The process' memory and the disk must agree on that, too."""
    ledger = opener.ledger()
    keep(ledger, decision(-15))
    ledger.recall([scaler()])
    ledger.intend([rising()])
    ledger = opener.restart()
    ledger.recall([scaler()])
    blind = remembering(replace(decision(15), current=None, desired=None), recommendations=())
    save(ledger, blind, seen=replace(observation(), target=TargetUnavailable("no answer")))
    remembered = ledger.recall([scaler()])
    assert remembered["web"].pending == PendingWrite(8, 5, at(0))
    assert opener.restart().recall([scaler()]) == remembered


def test_a_dry_run_has_no_intents(opener: Opener) -> None:
    """It writes nothing, so no write can be unfinished."""
    ledger = opener.ledger()
    ledger.recall([scaler()])
    ledger.intend([replace(rising(), dry_run=True)])
    assert ledger.recall([scaler()])["web"].pending is None
    assert opener.restart().recall([scaler()])["web"].pending is None


def test_a_new_target_starts_without_a_memory_and_the_old_memory_is_kept(opener: Opener) -> None:
    """Recommendations for one group say nothing about another. A typing error in the file loses no memory."""
    ledger = opener.ledger()
    keep(ledger, decision(target="web-asg"))
    before = ledger.recall([scaler()])
    assert ledger.recall([scaler(target="other-asg")]) == {"web": History()}
    keep(ledger, decision(15, target="other-asg"))
    assert ledger.recall([scaler()]) == before
    assert opener.restart().recall([scaler()]) == before


@each_database
def test_text_of_a_back_end_that_a_database_refuses_does_not_fail_the_cycle(opener: Opener) -> None:
    """One target's odd error text must not affect the memory of all other autoscalers."""
    odd = written(rising())
    odd = replace(odd, events=(replace(odd.events[0], message="NUL \0 and half a pair \ud800"),))
    keep(opener.ledger(), odd)
    archive = opener.archive()
    assert [record.decision for record in archive.records("web")] == [odd]
    assert [row.message for row in archive.events("web")] == ["NUL \ufffd and half a pair ?"]


def test_an_autoscaler_that_is_paused_before_its_first_cycle_is_recorded_as_paused(opener: Opener) -> None:
    """Its first decision depends on the pause, and must be the same when it is repeated."""
    state = opener.state()
    paused = ManualControls(pause=Pause(Direction.BOTH, "ann", "freeze", START, None))
    steer(state, "web", paused)
    ledger = state.ledger(FLEET)
    keep(ledger, replace(decision(0), manual=paused))
    (record,) = opener.archive().records("web")
    assert record.history == History(manual=paused)


def test_removed_autoscalers_are_not_kept_in_the_process_memory(opener: Opener) -> None:
    """Names that change for months must not fill the daemon's memory."""
    keep(opener.ledger(), *(decision(name=f"s{k}") for k in range(50)))
    ledger = opener.restart()
    ledger.follow([scaler("s0")])
    ledger.recall([scaler("s0")])
    assert ledger._entries is not None
    assert list(ledger._entries) == [AS_WRITTEN(scaler("s0").target)]
