"""Filtering, sorting and paging of the list."""

from collections.abc import Sequence

from autoscaler.model import Decision, Direction, ManualControls, Pause
from autoscaler.view.verdict import AutoscalerState
from autoscaler.web.page.listing import PAGE_ROWS, Entry, ListQuery, Order, entries, listing
from tests.decide.build import CPU_60, scaler
from tests.decisions import NOW, cpu, decision
from tests.replaced import replace


def known(*decisions: Decision) -> Sequence[Entry]:
    return entries({}, {made.name: made for made in decisions}, {})


def names(found: Sequence[Entry]) -> list[str]:
    return [entry.name for entry in found]


def test_an_address_without_parameters_lists_all_by_name() -> None:
    found = listing(known(decision("b"), decision("a")), ListQuery.model_validate({}))

    assert names(found.entries) == ["a", "b"]
    assert (found.found, found.total, found.pages) == (2, 2, 1)


def test_invalid_parameters_are_ignored() -> None:
    """Users mistype addresses; a list is a better answer than an error."""
    odd = {"state": "happy", "sort": "colour", "page": "-3", "q": "x" * 300}

    assert ListQuery.model_validate(odd) == ListQuery()
    assert ListQuery.model_validate({"page": "٣"}) == ListQuery()


def test_a_search_matches_names_and_targets_in_any_case() -> None:
    """Users remember one of them, and not its case."""
    found = listing(known(decision("web"), decision("jobs")), ListQuery.model_validate({"q": " WEB-as "}))

    assert names(found.entries) == ["web"]


def test_states_are_counted_in_the_whole_list() -> None:
    """The active filter must not hide how many autoscalers fail."""
    failing = decision("a", error="no answer")

    found = listing(known(failing, decision("b")), ListQuery.model_validate({"state": "steady"}))

    assert names(found.entries) == ["b"]
    assert found.states == {AutoscalerState.FAILING: 1, AutoscalerState.STEADY: 1}


def test_a_paused_autoscaler_that_fails_is_listed_in_both_states() -> None:
    """An operator who ends pauses filters by `paused`."""
    paused = ManualControls(Pause(Direction.BOTH, "ann", "release", NOW, None))
    made = entries({}, {"a": decision("a", error="no answer"), "b": decision("b")}, {"a": paused, "b": paused})

    found = listing(made, ListQuery.model_validate({"state": "paused"}))

    assert names(found.entries) == ["a", "b"]
    assert found.states == {AutoscalerState.FAILING: 1, AutoscalerState.PAUSED: 2}


def test_the_highest_load_comes_first_and_unknown_load_last() -> None:
    """An operator sees the autoscalers near trouble first."""
    made = [decision("a", metrics=(cpu(None),)), *[_loaded(name, ratio) for name, ratio in (("b", 0.5), ("c", 1.5))]]

    found = listing(known(*made), ListQuery(sort=Order.LOAD))

    assert names(found.entries) == ["c", "b", "a"]


def test_a_page_past_the_end_is_the_last_page() -> None:
    """The list may have become shorter. A page has a hundred rows."""
    many = known(*[decision(f"n{number:03}") for number in range(PAGE_ROWS + 5)])

    found = listing(many, ListQuery.model_validate({"page": "99"}))

    assert len(found.entries) == 5
    assert (found.wanted.page, found.pages, found.first) == (2, 2, PAGE_ROWS + 1)


def test_a_link_to_another_order_keeps_the_filter_and_shows_the_first_page() -> None:
    wanted = ListQuery(q="a&b", state=AutoscalerState.FAILING, page=3)

    assert wanted.address(sort=Order.LOAD) == "/?q=a%26b&state=failing&sort=load"
    assert wanted.address(page=4) == "/?q=a%26b&state=failing&page=4"


def test_an_autoscaler_without_a_decision_is_listed() -> None:
    """A new daemon shows what it will decide about."""
    (entry,) = entries({"web": scaler(CPU_60)}, {}, {})

    assert (str(entry.target), entry.states, entry.size) == ("fleet/web", (AutoscalerState.UNKNOWN,), -1)


def _loaded(name: str, ratio: float) -> Decision:
    return decision(name, metrics=(replace(cpu(), ratio=ratio),))


def labelled(name: str, **labels: str) -> Entry:
    scalers = {name: replace(scaler(CPU_60), labels=tuple(labels.items()))}
    return entries(scalers, {name: decision(name)}, {})[0]


def test_labels_select_as_in_kubectl() -> None:
    """The selector combines with every other filter and is kept in every link."""
    fleet = [labelled("a", team="shop"), labelled("b", team="mail"), *known(decision("c"))]
    wanted = ListQuery.model_validate({"labels": "team in (shop, mail),team!=mail"})
    found = listing(fleet, wanted)

    assert names(found.entries) == ["a"]
    assert ListQuery.model_validate({"labels": "!team"}) != wanted
    assert names(listing(fleet, ListQuery.model_validate({"labels": "!team"})).entries) == ["c"]
    assert "labels=team+in+%28shop" in wanted.address(page=2)


def test_an_invalid_selector_lists_an_error_and_no_autoscaler() -> None:
    """All autoscalers would look like the result of a valid selector."""
    found = listing([labelled("a", team="shop")], ListQuery.model_validate({"labels": "team in (sh"}))

    assert (found.entries, found.total) == ([], 1)
    assert "is not a valid label selector" in found.problem
    assert listing([labelled("a", team="shop")], ListQuery()).problem == ""


def test_the_label_filter_is_shown_if_an_autoscaler_has_labels() -> None:
    assert listing([labelled("a", team="shop")], ListQuery()).labelled
    assert not listing(known(decision("a")), ListQuery()).labelled
