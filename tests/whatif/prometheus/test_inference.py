"""Which instances there were, from when their series had samples."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

import pytest

from autoscaler.errors import TargetUnavailable
from autoscaler.model import Phase, TargetState
from autoscaler.observe.ranges import Grid
from autoscaler.whatif.prometheus.inference import UNKNOWN, Lifetime, States, durations, lifetimes
from autoscaler.whatif.prometheus.rows import Row, Runs
from tests.observe.build import scaler
from tests.replaced import replace

SPAN = Grid(timedelta(seconds=15), 1000, 20)


def row(*runs: tuple[int, int], **labels: str) -> Row:
    return Row({"job": "web", **labels}, runs)


def there(
    own: Sequence[Row], up: Sequence[Row] = (), down: Sequence[Row] = (), **more: Sequence[Row] | Runs
) -> Mapping[str, Runs]:
    selected, gaps = more.get("selected", ()), more.get("gaps", ())
    found = lifetimes(own, selected, up, down, None, gaps)  # type: ignore[arg-type] # each is given by its name
    return {each.name: list(each.there) for each in found}


def states(known: Sequence[Lifetime], sizes: Sequence[int] | None = None, minimum: int = 1) -> States:
    web = replace(scaler(), min_replicas=minimum)
    return States(web, known, sizes or [UNKNOWN] * SPAN.count, SPAN, {}, ())


def living(name: str, begin: int, end: int) -> Lifetime:
    return Lifetime(name, frozenset({name}), [(begin, end)], [(begin, end)])


def read(state: TargetState | TargetUnavailable) -> TargetState:
    assert isinstance(state, TargetState)
    return state


def test_an_instance_is_there_while_it_is_scraped() -> None:
    """Its rate has a sample later than it, and for some minutes after it."""
    assert there([row((4, 12), instance="a")], up=[row((2, 8), instance="a")]) == {"a": [(2, 8)]}


def test_without_up_it_is_there_while_the_series_that_the_expression_reads_is() -> None:
    assert there([row((4, 12), instance="a")], selected=[row((3, 8), instance="a")]) == {"a": [(3, 8)]}


def test_without_either_it_is_there_while_its_metric_has_a_sample() -> None:
    assert there([row((4, 12), instance="a")]) == {"a": [(4, 12)]}


def test_scrapes_that_fail_until_the_end_are_of_an_instance_that_is_gone() -> None:
    """Service discovery lists an address for longer than the instance lives."""
    found = there([row((2, 6), instance="a")], up=[row((1, 10), instance="a")], down=[row((6, 10), instance="a")])
    assert found == {"a": [(1, 6)]}


def test_scrapes_that_fail_for_a_while_leave_the_instance_there() -> None:
    """An outage of scrapes is not a scale-in."""
    own = [row((1, 4), (7, 10), instance="a")]
    (found,) = lifetimes(own, (), [row((0, 10), instance="a")], [row((4, 7), instance="a")], None, ())
    assert (found.there, found.down) == ([(0, 10)], [(4, 7)])


def test_a_gap_in_all_scrapes_leaves_the_instance_there() -> None:
    """Prometheus was away, and not the instances."""
    assert there([row((0, 5), (9, 20), instance="a")], gaps=[(5, 9)]) == {"a": [(0, 20)]}


def test_scrapes_are_found_by_address_where_another_label_names_the_instance() -> None:
    own = [row((3, 9), alloc_id="a1", instance="10.0.0.1:80")]
    assert there(own, up=[row((1, 9), instance="10.0.0.1:80")]) == {"a1": [(1, 9)]}


def test_an_address_that_two_instances_had_tells_of_neither() -> None:
    own = [row((1, 5), alloc_id="a1", instance="10.0.0.1:80"), row((8, 12), alloc_id="a2", instance="10.0.0.1:80")]
    assert there(own, up=[row((0, 12), instance="10.0.0.1:80")]) == {"a1": [(1, 5)], "a2": [(8, 12)]}


def test_an_instance_is_called_by_its_address_with_and_without_port() -> None:
    """As an adapter lists it, so that the samples of another exporter on the same machine are its own, too."""
    (found,) = lifetimes([row((0, 5), alloc_id="a1", instance="10.0.0.1:80")], (), (), (), None, ())
    assert found.identities == {"a1", "10.0.0.1:80", "10.0.0.1"}


def test_a_start_that_was_seen_is_when_the_instance_started() -> None:
    state = read(states([living("a", 3, 20)], minimum=0).at(3))
    assert state.instances[0].started_at == SPAN.at(3)
    assert (state.replicas, state.instances[0].phase, state.instances[0].ready) == (1, Phase.RUNNING, True)


def test_no_sample_of_any_instance_is_not_a_size_of_zero() -> None:
    """Scaling rests on it: a pool that must not be empty was surely not."""
    assert isinstance(states([living("a", 3, 20)]).at(0), TargetUnavailable)


def test_a_pool_that_may_be_empty_was_so_while_none_of_its_instances_had_a_sample() -> None:
    assert read(states([living("a", 3, 20)], minimum=0).at(0)).replicas == 0


def test_while_nothing_at_all_has_a_sample_even_that_is_not_known() -> None:
    web = replace(scaler(), min_replicas=0)
    silent = States(web, [living("a", 3, 20)], [UNKNOWN] * SPAN.count, SPAN, {}, [(0, 2)])
    assert isinstance(silent.at(0), TargetUnavailable)


def test_what_was_asked_for_and_has_no_series_yet_is_pending() -> None:
    state = read(states([living("a", 0, 20)], [3] * SPAN.count).at(0))
    assert (state.replicas, state.status_replicas, state.ready) == (3, 3, 1)


def test_of_more_than_were_asked_for_those_leave_whose_series_end_first() -> None:
    known = [living("a", 0, 20), living("b", 0, 5), living("c", 0, 9)]
    state = read(states(known, [1] * SPAN.count).at(0))
    assert {each.name: each.deleting for each in state.instances} == {"a": False, "b": True, "c": True}
    assert (state.replicas, state.status_replicas) == (1, 1)


def test_a_step_at_which_nothing_changed_has_the_same_state() -> None:
    """Deciding is quick where a state is the one before; a week has 40,320 of them."""
    web = states([living("a", 0, 20)])
    assert web.at(0) is web.at(1)


@pytest.mark.parametrize("size", [2_000_000_000])
def test_a_size_beyond_reason_takes_no_memory(size: int) -> None:
    """It comes from a query, which may say anything."""
    state = read(states([living("a", 0, 20)], [size] * SPAN.count).at(0))
    assert (state.replicas, len(state.instances)) == (size, 2)


def test_starts_and_ends_are_learnt_from_changes_of_the_size() -> None:
    sizes = [1] * 4 + [2] * 8 + [1] * 8
    known = [living("a", 0, 20), living("b", 6, 15)]
    assert durations(known, sizes, SPAN) == (timedelta(seconds=30), timedelta(seconds=45))


def test_without_sizes_a_start_lasts_from_the_first_scrape_to_the_first_sample() -> None:
    known = [Lifetime("a", frozenset("a"), [(2, 20)], [(5, 20)])]
    assert durations(known, [UNKNOWN] * SPAN.count, SPAN).start_up == timedelta(seconds=45)
