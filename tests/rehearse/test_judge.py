"""The judge of a life full of faults finds violations. Each test simulates a life with one violation."""

from collections.abc import Sequence

import pytest

from autoscaler.decide import apply_outcome, decide, remember
from autoscaler.errors import TargetUnavailable
from autoscaler.hpa.memory import with_pending_write
from autoscaler.model import (
    History,
    Observation,
    TargetState,
    ValueReading,
)
from autoscaler.record.values import Record
from rehearse import judge
from rehearse.judge import Asked
from tests.record.samples import at
from tests.rehearse.lived import SCALER, forget_window, lived
from tests.replaced import replace


def found(records: Sequence[Record], asked: Sequence[Asked]) -> dict[str, list[str]]:
    changes = judge.changes_of(records, asked)
    return {
        "decided otherwise": list(judge.decided_otherwise(records)),
        "written twice": list(judge.written_twice(asked)),
        "unknown": list(judge.unknown_writes(records, asked)),
        "invented": list(judge.invented_changes(records, asked)),
        "unseen": list(judge.unseen_sizes(records, changes)),
        "window": list(judge.forgotten_windows(records, changes)),
        "policy": list(judge.exceeded_policies(records, changes)),
    }


def test_a_right_life_has_no_finding() -> None:
    records, asked = lived()
    assert [write.size for write in asked] == [6, 9, 6, 3]
    assert not any(found(records, asked).values())
    assert judge.changes_of(records) == judge.changes_of(records, asked), "cycles found the accepted sizes"


@pytest.mark.parametrize("dies_at", [3, 12])
def test_a_life_with_a_cycle_that_was_not_committed_has_no_finding(dies_at: int) -> None:
    """It leaves its write unfinished. A later part of the life begins with what was remembered then."""
    records, _ = lived(dies_at=dies_at)
    for part in (records, records[5:]):
        before = part[0].history
        assert before is not None
        assert list(judge.decided_otherwise(part, before)) == []
        assert list(judge.unexplained_sizes(part)) == []


def test_a_size_without_a_write_is_found() -> None:
    records, _ = lived()
    records[20] = replace(records[20], decision=replace(records[20].decision, current=17))
    assert "found 17" in next(judge.unexplained_sizes(records))


def test_a_step_of_the_clock_changes_no_decision() -> None:
    """All remembered times are moved with it. A window that ends by the step is found."""
    assert not found(*lived(set_at=11))["decided otherwise"]
    assert found(*lived(set_at=11, forgets_at=[11], forget=forget_window))["decided otherwise"]


def test_changes_whose_times_are_moved_with_the_clock_are_the_same_changes() -> None:
    """The first two writes are remembered at other times than those of their decisions."""
    records, asked = lived(set_at=3)
    said = found(records, asked)
    assert not said["unknown"]
    assert not said["invented"]
    assert len(judge.remembered_changes(records)) > len(asked)
    assert found(records, asked[1:])["invented"]


def test_a_forgotten_window_is_found() -> None:
    """The load is low since second 9, and the window keeps the size up to second 14."""
    said = found(*lived(forgets_at=[11], forget=forget_window))
    assert any(": remembered " in each for each in said["decided otherwise"])
    assert said["decided otherwise"]
    assert said["window"]


def test_a_window_that_begins_anew_is_found() -> None:
    """A daemon without a memory uses the present size as its first recommendation, and waits too long."""
    said = found(*lived(forgets_at=[11]))
    assert said["decided otherwise"]
    assert not said["window"]


def test_an_exceeded_policy_is_found() -> None:
    """Two daemons without a memory add 4 each within one period."""
    records, asked = lived([2, 20, 20, 20], forgets_at=[2])
    assert found(records, asked)["policy"]


def test_a_write_that_was_sent_twice_is_found() -> None:
    records, asked = lived()
    assert found(records, [*asked, asked[-1]._replace(accepted=False)])["written twice"]


def test_a_forgotten_write_without_a_record_is_found() -> None:
    """The daemon died between the first write and its record, and the next daemon does not know the write."""
    assert found(*lived(dies_at=1))["unknown"]


def test_a_lost_write_that_gave_way_to_a_later_one_is_no_finding() -> None:
    """A lagging standby was promoted and lost eight cycles. The second write was later than every period."""
    records, asked = lived([2, *[6] * 8, *[9] * 4])
    assert [write.size for write in asked] == [6, 9]
    kept = [records[0], *records[10:]]
    assert not list(judge.unknown_writes(kept, asked))
    assert list(judge.unknown_writes(kept, asked[:1]))
    fallen = [asked[0], asked[1]._replace(growth=-3)]
    assert next(iter(judge.unknown_writes(kept, fallen))).startswith(asked[0].id)


def test_a_size_that_was_set_from_outside_is_found() -> None:
    records, asked = lived()
    assert found(records, asked[:-1])["unseen"] or found(records[:-1], asked[:-2])["unseen"]


def test_a_record_without_its_history_is_refused() -> None:
    records, asked = lived()
    records[3] = replace(records[3], history=None)
    assert found(records, asked)["decided otherwise"]


def test_several_writes_between_two_records_are_several_changes() -> None:
    """Each counts at its own time. Two daemons may have died before a record."""
    records, asked = lived()
    assert judge.changes_of([records[0], records[9]]) == judge.changes_of(records, asked[:2])


def test_a_cycle_that_could_not_read_the_target_has_found_no_size() -> None:
    records, asked = lived()
    for number in (0, 4):
        record = records[number]
        records[number] = replace(record, decision=replace(record.decision, current=None))
    assert judge.changes_of(records, asked) == judge.changes_of(lived()[0], asked)
    assert judge.changes_of(records)


def test_changes_without_known_times_may_use_the_policies_of_the_whole_span() -> None:
    """Daemons died one after another, and only the sizes before and after their changes are known."""
    records, _ = lived()
    seen = records[0].observation
    assert seen is not None

    def grown_to(size: int, second: int) -> list[str]:
        target = TargetState(size, size, ())
        later = Record(SCALER, decide(SCALER, replace(seen, target=target), History(), at(second)), seen, History())
        return list(judge.exceeded_policies(records[:1], judge.changes_of([records[0], later])))

    assert not grown_to(10, second=6), "4 at once, and 4 when the period of 6 s is over"
    assert grown_to(10, second=5)
    assert grown_to(11, second=11)


def test_a_cycle_without_a_record_may_settle_a_write_without_an_answer() -> None:
    """It is committed with that cycle's own intent, the only commit of the cycle."""
    records, asked = _unanswered()
    assert not any(found(records, asked).values())


def test_a_remembered_change_of_a_write_that_never_arrived_is_found() -> None:
    """The cycle without a record continued from the earlier size, and counts a change that it did not find."""
    (first, last), asked = _unanswered()
    assert last.history is not None
    assert last.history.pending is not None
    elsewhere = replace(last.history, pending=replace(last.history.pending, decided_from=2))
    assert found([first, replace(last, history=elsewhere)], asked)["decided otherwise"]


def _unanswered() -> tuple[list[Record], list[Asked]]:
    """Return a life: the write at 0 arrives without an answer; a daemon writes at 8 and dies; the next continues."""
    seen = [Observation(TargetState(size, size, ()), (ValueReading((9000,)),)) for size in (2, 6, 9)]
    first = apply_outcome(decide(SCALER, seen[0], History(), at(0)), TargetUnavailable("no answer"))
    known = remember(SCALER, History(), first)
    lost = decide(SCALER, seen[1], known, at(8))
    committed = with_pending_write(SCALER, known, lost)
    last = decide(SCALER, seen[2], committed, at(9))
    asked = [
        Asked(made.change.id, made.now, made.change.size, accepted=True)
        for made in (first, lost)
        if made.change is not None
    ]
    return [Record(SCALER, first, seen[0], History()), Record(SCALER, last, seen[2], committed)], asked
