"""Filtering, sorting and paging of the list."""

from collections.abc import Sequence

from autoscaler.documents.verdict import AutoscalerState
from autoscaler.model import Decision, Direction, Pause, Steering
from autoscaler.web.page.listing import PAGE_ROWS, Entry, ListQuery, Order, entries, listing
from tests.decide.build import CPU_60, scaler
from tests.decisions import NOW, cpu, decision
from tests.replaced import replace


def known(*decisions: Decision) -> Sequence[Entry]:
    return entries({}, {made.name: made for made in decisions}, {})


def names(found: Sequence[Entry]) -> list[str]:
    return [entry.name for entry in found]


def test_nothing_asked_for_is_everything_by_name() -> None:
    """The address has no parameters."""
    found = listing(known(decision("b"), decision("a")), ListQuery.of({}))

    assert names(found.entries) == ["a", "b"]
    assert (found.found, found.total, found.pages) == (2, 2, 1)


def test_what_an_address_cannot_mean_is_passed_over() -> None:
    """Addresses are typed and damaged; a list is a better answer than an error."""
    odd = {"state": "happy", "sort": "colour", "page": "-3"}

    assert ListQuery.of(odd) == ListQuery()
    assert ListQuery.of({"page": "٣"}) == ListQuery()


def test_text_is_looked_for_in_names_and_targets_whatever_the_case() -> None:
    """Users remember either, and not the case."""
    found = listing(known(decision("web"), decision("jobs")), ListQuery.of({"q": " WEB-as "}))

    assert names(found.entries) == ["web"]


def test_a_state_is_counted_in_the_whole_list() -> None:
    """The active filter must not hide how many autoscalers fail."""
    failing = decision("a", error="no answer")

    found = listing(known(failing, decision("b")), ListQuery.of({"state": "steady"}))

    assert names(found.entries) == ["b"]
    assert found.states == {AutoscalerState.FAILING: 1, AutoscalerState.STEADY: 1}


def test_one_that_fails_and_is_paused_is_found_under_both() -> None:
    """An operator who ends pauses filters by `paused`."""
    paused = Steering(Pause(Direction.BOTH, "ann", "release", NOW, None))
    made = entries({}, {"a": decision("a", error="no answer"), "b": decision("b")}, {"a": paused, "b": paused})

    found = listing(made, ListQuery.of({"state": "paused"}))

    assert names(found.entries) == ["a", "b"]
    assert found.states == {AutoscalerState.FAILING: 1, AutoscalerState.PAUSED: 2}


def test_the_highest_load_comes_first_and_unknown_load_last() -> None:
    """An operator sees the autoscalers near trouble first."""
    made = [decision("a", metrics=(cpu(None),)), *[_loaded(name, ratio) for name, ratio in (("b", 0.5), ("c", 1.5))]]

    found = listing(known(*made), ListQuery(order=Order.LOAD))

    assert names(found.entries) == ["c", "b", "a"]


def test_pages_hold_a_hundred_and_the_last_one_the_rest() -> None:
    """A page past the end shows the last one: the list may have become shorter."""
    many = known(*[decision(f"n{number:03}") for number in range(PAGE_ROWS + 5)])

    found = listing(many, ListQuery.of({"page": "99"}))

    assert len(found.entries) == 5
    assert (found.wanted.page, found.pages, found.first) == (2, 2, PAGE_ROWS + 1)


def test_a_link_keeps_the_filter_and_begins_at_the_first_page() -> None:
    """Another order applies to the filtered list."""
    wanted = ListQuery(text="a&b", state=AutoscalerState.FAILING, page=3)

    assert wanted.address(order=Order.LOAD) == "/?q=a%26b&state=failing&sort=load"
    assert wanted.address(page=4) == "/?q=a%26b&state=failing&page=4"


def test_what_is_configured_and_never_decided_about_is_listed() -> None:
    """A new daemon shows what it will decide about."""
    (entry,) = entries({}, {"web": decision("web")}, {"web": Steering()})

    assert (entry.adapter, entry.target, entry.size) == ("fleet", "fleet/web-asg", 3)


def _loaded(name: str, ratio: float) -> Decision:
    return decision(name, metrics=(replace(cpu(), ratio=ratio),))


def labelled(name: str, **labels: str) -> Entry:
    made = decision(name)
    return Entry(name, replace(scaler(CPU_60), labels=tuple(labels.items())), made, Steering(), AutoscalerState.STEADY)


def test_labels_select_as_in_kubectl() -> None:
    """The selector combines with every other filter and is kept in every link."""
    fleet = [labelled("a", team="shop"), labelled("b", team="mail"), *known(decision("c"))]
    wanted = ListQuery.of({"labels": "team in (shop, mail),team!=mail"})
    found = listing(fleet, wanted)

    assert names(found.entries) == ["a"]
    assert ListQuery.of({"labels": "!team"}) != wanted
    assert names(listing(fleet, ListQuery.of({"labels": "!team"})).entries) == ["c"]
    assert "labels=team+in+%28shop" in wanted.address(page=2)


def test_a_selector_that_is_half_typed_shows_what_is_wrong_and_nothing_else() -> None:
    """Showing all autoscalers would look like a valid selection."""
    found = listing([labelled("a", team="shop")], ListQuery.of({"labels": "team in (sh"}))

    assert (found.entries, found.total) == ([], 1)
    assert "is not a valid label selector" in found.problem
    assert listing([labelled("a", team="shop")], ListQuery()).problem == ""


def test_the_filter_is_offered_where_there_are_labels() -> None:
    """Without labels it would only take room."""
    assert listing([labelled("a", team="shop")], ListQuery()).labelled
    assert not listing(known(decision("a")), ListQuery()).labelled
