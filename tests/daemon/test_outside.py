"""Looks at a back end's policies, and what the daemon is to follow of them. test_discovery.py has real ones."""

import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from autoscaler.config.origins import Origin, Origins, Reading, origins_of
from autoscaler.config.outside import Granted
from autoscaler.config.settings import AdapterSection, Settings
from autoscaler.config.teams import TeamFile
from autoscaler.errors import AdapterError, TargetError, TargetForbidden, TargetNotFound
from autoscaler.model import Call, TargetRef
from autoscaler.runtime.outside import PERIOD_SECONDS, Outside
from autoscaler.runtime.policies import DEADLINE_SECONDS
from autoscaler.target import Discovery
from autoscaler.target.contract import RecordingLogger
from tests.cli.nomad import policy
from tests.clocks import FakeClock
from tests.convert.grants import settings
from tests.waiting import PATIENCE_SECONDS

APP: Final = TargetRef("nomad", "cache/app", "shop")
WEB: Final = TargetRef("nomad", "web/web", "shop")


def policies(*targets: TargetRef) -> Mapping[TargetRef, Mapping[str, Any]]:
    """Return a policy for each of these targets."""
    found = {}
    for target in targets:
        job, group = target.parts or target.name.rsplit("/", 1)
        found[target] = policy(Target={"Namespace": target.namespace, "Job": job, "Group": group})
    return found


class Back:
    """A back end, and the builder of its adapter: `answer` is called for each look."""

    def __init__(self) -> None:
        self.answer: Callable[[], Any] = lambda: Discovery(policies(APP), {})
        self.known: list[Collection[TargetRef]] = []
        self.closed = 0

    def discover(self, namespaces: Collection[str], known: Collection[TargetRef], call: Call) -> Any:
        assert namespaces == ["shop"]
        assert call.deadline > 0
        self.known.append(known)
        return self.answer()

    def build_reader(self, name: str, section: AdapterSection) -> Any:
        assert (name, section.type) == ("nomad", "nomad")
        return self

    def close(self, adapters: Iterable[object]) -> None:
        self.closed += len(list(adapters))


class Bench:
    """Discoveries of one connection, which a daemon without autoscalers of its own follows."""

    def __init__(self, given: Settings) -> None:
        self.back, self.clock, self.logger = Back(), FakeClock(), RecordingLogger()
        builder: Any = self.back
        self.discoveries = Outside(builder, self.clock, self.logger)
        self.follow(given)

    def follow(self, given: Settings) -> list[str]:
        """Follow a configuration, as the daemon does. Returns the autoscalers."""
        self.given = given
        self.settings = self.discoveries.prepare(given)
        self.discoveries.follow(self.settings)
        return [scaler.name for scaler in self.settings.autoscalers]

    def look(self) -> list[str]:
        """Begin a look, wait for its end, and follow it if it changed something. Returns the autoscalers."""
        self.discoveries.turn()
        looks = [thread for thread in threading.enumerate() if thread.name == "discover-nomad"]
        for thread in looks:
            thread.join(PATIENCE_SECONDS)
        if self.discoveries.turn():
            self.settings = self.discoveries.changed()
            self.discoveries.follow(self.settings)
        return [scaler.name for scaler in self.settings.autoscalers]

    def later(self) -> list[str]:
        """Look again when that is due."""
        self.clock.advance(PERIOD_SECONDS)
        return self.look()


def only_granted(followed: Settings) -> Granted:
    """Return the autoscaler of the only origin."""
    (origin,) = origins_of(followed).table.values()
    (granted,) = origin.granted
    return granted


def with_file(main: Settings, granted: Granted) -> Settings:
    """Return the settings with the file of a team that has this autoscaler."""
    path = Path("shop.yaml")
    file = TeamFile("shop", path, ())
    return Origins(main, {path: Origin(file, file, Reading("shop", (granted,)))}).joined()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(settings(tmp_path))


def test_nothing_is_found_before_the_first_look(bench: Bench) -> None:
    """The document says so: its policies are not missing."""
    (connection,) = bench.discoveries.document().connections
    assert (connection.at, connection.found, connection.failures) == (None, 0, ())


def test_a_found_policy_is_followed(bench: Bench) -> None:
    """Until then `turn` says that something differs."""
    assert bench.look() == ["shop.cache.app"]
    assert not bench.discoveries.turn()
    (connection,) = bench.discoveries.document().connections
    assert (connection.at, connection.found) == (bench.clock.now(), 1)


def test_a_policy_that_could_not_be_followed_is_put_off(bench: Bench) -> None:
    """The daemon tries again, and not every second."""
    bench.discoveries.turn()
    for thread in [each for each in threading.enumerate() if each.name == "discover-nomad"]:
        thread.join(60)
    assert bench.discoveries.turn()
    bench.discoveries.put_off()
    assert not bench.discoveries.turn()
    bench.clock.advance(15)
    assert bench.discoveries.turn()


def test_a_look_is_due_after_a_period(bench: Bench) -> None:
    """It is told what is known."""
    bench.look()
    bench.look()
    assert bench.back.known == [[]]
    bench.later()
    assert bench.back.known == [[], [APP]]


def test_a_policy_that_a_look_had_no_time_for_is_looked_at_at_once(bench: Bench) -> None:
    """A thousand policies may take longer than one look may."""
    first: dict[TargetRef, Mapping[str, Any] | TargetError] = {**policies(APP), WEB: TargetForbidden("late")}
    second: dict[TargetRef, Mapping[str, Any] | TargetError] = {**policies(APP, WEB)}
    answers = iter([first, second])
    bench.back.answer = lambda: Discovery(next(answers), {})
    bench.look()
    assert bench.look() == ["shop.cache.app", "shop.web.web"]


@pytest.mark.parametrize(
    "error",
    [TargetForbidden("403"), AdapterError("no token"), KeyError("x"), {"policies": {}}, Discovery(None, {})],  # type: ignore[arg-type]  # wrong on purpose
)
def test_a_failed_look_keeps_what_is_known_and_says_why(bench: Bench, error: object) -> None:
    """Whatever the adapter does wrong."""
    bench.look()

    def fail() -> Any:
        if isinstance(error, Exception):
            raise error
        return error

    bench.back.answer = fail
    assert bench.later() == ["shop.cache.app"]
    (connection,) = bench.discoveries.document().connections
    assert (connection.found, connection.failing) == (1, 1)
    assert connection.failures[0].startswith("shop: ")
    assert [event for level, event, _ in bench.logger.lines if level == "warning"] == ["discovery_failed"]


def test_a_name_that_is_not_printable_costs_its_own_target_alone(bench: Bench) -> None:
    """Nomad refuses only spaces in a job's id."""
    odd = TargetRef("nomad", "c\x1b[2Jache/app", "shop")
    bench.back.answer = lambda: Discovery(policies(APP, odd), {})
    assert bench.look() == ["shop.cache.app"]
    (connection,) = bench.discoveries.document().connections
    assert connection.failures == ("shop: `c\\x1b[2Jache/app` is left out; give it a printable name of at most 1 KiB",)


def test_two_targets_of_one_name_are_both_refused(bench: Bench) -> None:
    """Which of the two a pause, a row of the state or a file means would be a guess. A neighbour goes on."""
    clash = [
        TargetRef("nomad", "cache/a/b", "shop", parts=("cache", "a/b")),
        TargetRef("nomad", "cache/a/b", "shop", parts=("cache/a", "b")),
    ]
    bench.back.answer = lambda: Discovery(policies(APP, *clash), {})
    assert bench.look() == ["shop.cache.app"]
    refused = sorted(each.refused or "" for each in bench.discoveries.document().policies)
    said = "cache/a/b is also the name of another target; rename a part of this one "
    assert refused == ["", f"{said}('cache', 'a/b')", f"{said}('cache/a', 'b')"]
    assert not bench.discoveries.turn()  # the same answer is no change
    bench.back.answer = lambda: Discovery({clash[0]: TargetNotFound("gone"), **policies(APP, clash[1])}, {})
    assert bench.later() == ["shop.cache.a.b", "shop.cache.app"]


def wrong(target: TargetRef) -> Mapping[str, Any]:
    """Return a policy of which a part cannot be carried over."""
    return {**policies(target)[target], "Policy": {"check": []}}


def test_a_policy_that_becomes_wrong_keeps_its_last_good_version(bench: Bench, tmp_path: Path) -> None:
    """As a team's file does, also under another configuration, while its grant allows it. A new wrong one has none.

    Its neighbour's new version is in force. What was right once more is in force again.
    """
    bench.back.answer = lambda: Discovery(policies(APP, WEB), {})
    bench.look()
    lower = {**policies(WEB)[WEB], "Max": 5}
    bench.back.answer = lambda: Discovery({APP: wrong(APP), WEB: lower}, {})
    assert bench.later() == ["shop.cache.app", "shop.web.web"]
    assert not bench.discoveries.turn()  # the same answer is no change
    assert bench.later() == ["shop.cache.app", "shop.web.web"]
    assert not bench.discoveries.turn()
    app, web = bench.discoveries.document().policies
    assert (app.autoscaler, web.autoscaler, web.refused) == ("shop.cache.app", "shop.web.web", None)
    assert "has no check that can be converted" in (app.refused or "")
    (connection,) = bench.discoveries.document().connections
    assert (connection.found, connection.refused) == (2, 1)
    prepared = bench.discoveries.prepare(settings(tmp_path, maxReplicas=6))
    assert [each.max_replicas for each in prepared.autoscalers] == [6, 5]
    assert bench.follow(settings(tmp_path, targets=["web/*"])) == ["shop.web.web"]
    assert bench.follow(settings(tmp_path)) == ["shop.web.web"]
    bench.back.answer = lambda: Discovery(policies(APP, WEB), {})
    assert bench.later() == ["shop.cache.app", "shop.web.web"]
    assert [each.refused for each in bench.discoveries.document().policies] == [None, None]


def test_a_policy_that_is_switched_off_is_let_go(bench: Bench) -> None:
    """Its owner says so: that is no mistake. The reason is shown."""
    bench.back.answer = lambda: Discovery(policies(APP, WEB), {})
    bench.look()
    bench.back.answer = lambda: Discovery({APP: {**policies(APP)[APP], "Enabled": False}, **policies(WEB)}, {})
    assert bench.later() == ["shop.web.web"]
    assert [each.refused for each in bench.discoveries.document().policies] == ["the policy is not enabled", None]


def test_a_second_target_of_a_name_does_not_stop_the_first(bench: Bench) -> None:
    """Else the author of one job could end the scaling of another."""
    clash = [TargetRef("nomad", "cache/a/b", "shop", parts=parts) for parts in (("cache", "a/b"), ("cache/a", "b"))]
    bench.back.answer = lambda: Discovery(policies(clash[0]), {})
    assert bench.look() == ["shop.cache.a.b"]
    bench.back.answer = lambda: Discovery(policies(*clash), {})
    assert bench.later() == ["shop.cache.a.b"]
    assert [each.autoscaler for each in bench.discoveries.document().policies] == ["shop.cache.a.b", None]


def test_an_adapter_that_hangs_is_a_failure_and_is_asked_no_more(bench: Bench) -> None:
    """Another thread would hang as well."""
    over = threading.Event()
    bench.back.answer = lambda: over.wait(60)
    bench.discoveries.turn()
    bench.clock.advance(2 * DEADLINE_SECONDS + 1)
    bench.discoveries.turn()
    try:
        (connection,) = bench.discoveries.document().connections
        assert connection.failures == ("its adapter has not answered for 61 s",)
        assert len(bench.back.known) == 1
    finally:
        over.set()


def test_a_new_grant_applies_at_once(bench: Bench, tmp_path: Path) -> None:
    """To what is known, without a new look."""
    bench.look()
    assert bench.follow(settings(tmp_path, targets=["web/*"])) == []
    (found,) = bench.discoveries.document().policies
    assert "no grant includes it" in (found.refused or "")


def test_a_configuration_that_came_during_a_look_applies_to_what_it_found(bench: Bench, tmp_path: Path) -> None:
    """And another look begins at once."""
    go_on = threading.Event()

    def slowly() -> Discovery:
        go_on.wait(60)
        return Discovery(policies(APP), {})

    bench.back.answer = slowly
    bench.discoveries.turn()
    bench.follow(settings(tmp_path, namePrefix="new-"))
    go_on.set()
    bench.look()
    assert bench.look() == ["new-shop.cache.app"]


def test_a_connection_that_is_removed_is_closed(bench: Bench) -> None:
    """Its autoscalers go with it."""
    bench.look()
    section = bench.given.adapters["nomad"]
    assert bench.follow(replace(bench.given, adapters={"nomad": replace(section, discover=None)})) == []
    assert bench.back.closed == 1
    assert bench.discoveries.document().connections == ()


def test_live_keeps_what_is_known(bench: Bench, tmp_path: Path) -> None:
    """Else the change would stop the scaling until the back end answers."""
    bench.look()
    assert bench.follow(settings(tmp_path, live=False)) == ["shop.cache.app"]


def test_the_autoscalers_of_files_have_precedence(bench: Bench) -> None:
    """One target has one autoscaler. A team's file and discovery share the grant's budget of queries."""
    bench.look()
    granted = only_granted(bench.settings)
    mine = replace(granted, scaler=replace(granted.scaler, name="shop.mine"))
    files = with_file(bench.given, mine)
    assert bench.follow(files) == ["shop.mine"]
    (found,) = bench.discoveries.document().policies
    assert found.refused == "nomad/cache/app is already scaled by shop.mine; remove one of the two"
    (file,) = bench.discoveries.document().files
    assert (file.file, file.grant, file.autoscalers, file.refused) == ("shop.yaml", "shop", ("shop.mine",), None)
    assert bench.discoveries.prepare(files).owners == {"shop.mine": "shop"}
    assert bench.discoveries.prepare(files).refused == {}


def test_the_budget_of_queries_is_shared_with_files(bench: Bench, tmp_path: Path) -> None:
    """Two halves of a grant must not ask for twice as much."""
    bench.back.answer = lambda: Discovery(policies(APP), {})
    bench.look()
    granted = only_granted(bench.settings)
    scaler = granted.scaler
    metric = replace(scaler.metrics[0], query=replace(scaler.metrics[0].query, expr="sum(other)"))
    other = replace(scaler, name="shop.other", target=WEB, metrics=(metric,))
    queries = frozenset({("shop", "sum(other)", False)})
    mine = replace(granted, scaler=other, target=replace(WEB, region="global"), queries=queries)
    files = with_file(settings(tmp_path, maxQueries=1), mine)
    assert bench.follow(files) == ["shop.other"]
    (found,) = bench.discoveries.document().policies
    assert "go beyond the grant's maxQueries 1" in (found.refused or "")


def test_files_and_policies_share_one_budget_of_new_names(bench: Bench, tmp_path: Path) -> None:
    """Else a grant would bring twice as many as it may, and each leaves rows in the state."""
    bench.follow(settings(tmp_path, maxQueries=100))
    bench.clock.advance(3600)
    bench.back.answer = lambda: Discovery(
        policies(*[TargetRef("nomad", f"cache/g{number}", "shop") for number in range(100)]), {}
    )
    assert len(bench.look()) == 100
    granted = origins_of(bench.settings).table[TargetRef("nomad", "cache/g7", "shop")].granted[0]
    mine = replace(granted, scaler=replace(granted.scaler, name="shop.new", target=WEB), target=WEB)
    after = origins_of(with_file(origins_of(bench.settings).main, mine))
    assert after is not None
    bench.discoveries._table = replace(after, table={**after.table, **origins_of(bench.settings).table})
    changed = bench.discoveries.changed()
    assert len(changed.autoscalers) == 100
    assert "100 new names within an hour" in changed.refused["shop"][-1].message
    bench.clock.advance(3600)
    assert bench.discoveries.turn() == {"teams"}, "the name that is due is of a file"
    assert len(bench.discoveries.changed().autoscalers) == 101


def test_a_policy_s_name_that_is_due_is_of_policies(bench: Bench, tmp_path: Path) -> None:
    """The log names what is followed."""
    bench.follow(settings(tmp_path, maxQueries=100))
    bench.clock.advance(3600)
    targets = [TargetRef("nomad", f"cache/g{number:03}", "shop") for number in range(101)]
    bench.back.answer = lambda: Discovery(policies(*targets), {})
    assert len(bench.look()) == 100
    bench.clock.advance(3600)
    assert bench.discoveries.turn() == {"policies"}


def test_a_look_with_a_bug_is_named_after_what_it_looks_at(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not after the files of teams; the next look tries again."""
    monkeypatch.setattr("autoscaler.runtime.policies.after", lambda *_: 1 / 0)
    bench.look()
    assert [event for level, event, _ in bench.logger.lines if level == "error"] == ["policies_not_followed"]
