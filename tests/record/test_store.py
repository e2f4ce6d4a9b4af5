from dataclasses import replace

from autoscaler.decide import conclude, remember
from autoscaler.errors import TargetUnavailable
from autoscaler.model import History, Intent, Proposed
from tests.record.conftest import Opener
from tests.record.samples import at, decision, keep, observation, rising, scaler, written


def test_an_autoscaler_never_seen_remembers_nothing(opener: Opener) -> None:
    """The first cycle of a new autoscaler needs no special case."""
    assert opener.store().recall([scaler()]) == {"web": History()}


def test_what_was_recorded_is_remembered_at_once_and_after_a_restart(opener: Opener) -> None:
    """A restarted daemon must not forget a stabilization window or a rate limit."""
    made = written(rising())
    expected = remember(scaler(), History(), made)
    store = opener.store()
    keep(store, made)
    assert store.recall([scaler()]) == {"web": expected}
    opener.close()
    assert opener.store().recall([scaler()]) == {"web": expected}


def test_what_is_forgotten_leaves_the_disk_as_well(opener: Opener) -> None:
    """A recommendation that came back after a restart would hold a size that nothing else holds."""
    store = opener.store()
    keep(store, decision(0, size=5))
    keep(store, decision(15, size=9))
    keep(store, decision(7200, size=7))
    opener.close()
    (only,) = opener.store().recall([scaler()])["web"].recommendations
    assert (only.replicas, only.at) == (7, at(7200))


def test_an_intent_without_an_outcome_is_handed_back_after_a_restart(opener: Opener) -> None:
    """The daemon died between the announcement and the outcome: whether the size was written is for `decide` to see."""
    store = opener.store()
    store.recall([scaler()])
    store.intend([rising(size=8)])
    opener.close()
    history = opener.store().recall([scaler()])["web"]
    assert history == History(unfinished=Intent(size=8, decided_from=5, at=at(0)), at=at(0))


def test_an_outcome_settles_its_intent(opener: Opener) -> None:
    """Else every restart would count the same write again."""
    store = opener.store()
    store.recall([scaler()])
    store.intend([rising()])
    keep(store, written(rising()))
    opener.close()
    assert opener.store().recall([scaler()])["web"].unfinished is None


def test_an_intent_stays_while_the_target_cannot_be_read(opener: Opener) -> None:
    """Nobody can say yet whether the write happened; memory and disk must agree on that too."""
    store = opener.store()
    store.recall([scaler()])
    store.intend([rising()])
    blind = replace(decision(15), current=None, desired=None, recommendations=())
    store.record({"web": replace(observation(), target=TargetUnavailable("no answer"))}, [blind])
    remembered = store.recall([scaler()])
    assert remembered["web"].unfinished == Intent(8, 5, at(0))
    opener.close()
    assert opener.store().recall([scaler()]) == remembered


def test_a_dry_run_announces_nothing_and_is_recorded_as_one(opener: Opener) -> None:
    """It writes nothing, so that nothing can be unfinished; its decisions are there to be looked at."""
    store = opener.store()
    store.recall([scaler()])
    proposed = replace(rising(), dry_run=True, outcome=Proposed(8), scale_ups=())
    store.intend([proposed])
    assert store.recall([scaler()])["web"].unfinished is None
    keep(store, proposed)
    assert store.decisions("web") == [proposed]
    assert [row.dry_run for row in store.series("web")] == [True]
    history = store.recall([scaler()])["web"]
    assert (len(history.recommendations), history.scale_ups) == (1, ())


def test_a_changed_target_starts_fresh_and_the_old_one_is_found_again(opener: Opener) -> None:
    """Recommendations for one group say nothing about another; a slip in the file costs no memory."""
    store = opener.store()
    keep(store, decision(target="web-asg"))
    before = store.recall([scaler()])
    assert store.recall([scaler(target="other-asg")]) == {"web": History()}
    keep(store, decision(15, target="other-asg"))
    opener.close()
    assert opener.store().recall([scaler()]) == before


def test_histories_of_several_autoscalers_are_kept_apart(opener: Opener) -> None:
    """A batch writes them in one statement each."""
    store = opener.store()
    keep(store, *(decision(name=f"s{k}", size=k) for k in range(20)))
    opener.close()
    histories = opener.store().recall([scaler(f"s{k}") for k in range(20)])
    assert [histories[f"s{k}"].recommendations[0].replicas for k in range(20)] == list(range(20))


def test_words_of_a_back_end_that_no_database_can_keep_do_not_fail_the_cycle(opener: Opener) -> None:
    """One target's odd error text must not cost all other autoscalers their memory."""
    odd = written(rising())
    odd = replace(odd, events=(replace(odd.events[0], message="NUL \0 and half a pair \ud800"),))
    store = opener.store()
    keep(store, odd)
    assert store.decisions("web") == [odd]
    assert [row.message for row in store.events("web")] == ["NUL \ufffd and half a pair ?"]


def test_conditions_that_stay_as_they_are_are_remembered_beside_others_that_change(opener: Opener) -> None:
    """Most cycles change none, and write none again: in one statement with those that do, they would be blanked."""
    store, made = opener.store(), [decision(name=name, size=3) for name in ("quiet", "busy")]
    keep(store, *made)
    changed = replace(made[1].status, current=4)
    keep(store, replace(made[0], now=at(15)), replace(made[1], now=at(15), status=changed))
    opener.close()
    after = opener.store().recall([scaler("quiet"), scaler("busy")])
    assert (after["quiet"].conditions, after["quiet"].status) == (made[0].conditions, made[0].status)
    assert (after["busy"].conditions, after["busy"].status) == (made[1].conditions, changed)


def test_a_write_without_an_answer_is_still_unfinished_after_a_restart(opener: Opener) -> None:
    """A time-out may hide a write that took effect: forgetting it would let a policy be exceeded."""
    store = opener.store()
    store.recall([scaler()])
    made = rising(size=8)
    store.intend([made])
    keep(store, conclude(made, TargetUnavailable("no answer in time")))
    opener.close()
    unfinished = opener.store().recall([scaler()])["web"].unfinished
    assert unfinished == Intent(size=8, decided_from=5, at=at(0))
