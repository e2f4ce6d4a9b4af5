"""The times that instances take, in words."""

from datetime import timedelta

from autoscaler.whatif.documents.instance_times import instance_times_text
from autoscaler.whatif.replay.instance_times import InstanceTime, TimeSource


def time(seconds: float, source: TimeSource) -> InstanceTime:
    return InstanceTime(seconds=timedelta(seconds=seconds), source=source)


GONE = time(12.4, TimeSource.GIVEN)


def test_both_times_are_in_one_sentence_with_what_tells_them() -> None:
    learnt = time(2.5, TimeSource.INSTANCES)
    said = "Instances: start-up time 2s500ms (learnt from instances), termination time 12s (given)."
    assert instance_times_text([("as it was", None), ("new", learnt), ("old", learnt)], GONE) == said


def test_candidates_with_different_times_are_named() -> None:
    old, new = time(60, TimeSource.CONFIGURATION), time(30, TimeSource.CONFIGURATION)
    said = instance_times_text([("as it was", None), ("old", old), ("new", new)], GONE)
    assert said.startswith(
        "Instances: start-up time of old 1m (controller.startUpSeconds), "
        "start-up time of new 30s (controller.startUpSeconds), termination time"
    )


def test_where_no_start_up_time_was_used_there_is_none() -> None:
    """Under the load that was recorded, the sizes are those that were seen."""
    assert instance_times_text([("as it was", None), ("new", None)], GONE).startswith("Instances: termination time 12s")
