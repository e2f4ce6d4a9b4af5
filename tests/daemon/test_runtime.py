"""The runtime builds what a configuration asks for, and follows the next one."""

import gc
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from autoscaler.errors import AdapterError, StateError
from autoscaler.model import MetricType, Rules, ShardName, TargetRef, shard_of
from autoscaler.record.entries import Entry
from autoscaler.record.ledger import Ledger
from autoscaler.rules.drain import DrainRule, NodeDrainRule
from autoscaler.target import AdapterContext, AdapterSettings
from autoscaler.threads import Stop
from tests.daemon.runtime import FakeAdapter, RuntimeHarness, on, running_runtime
from tests.observe.build import metric
from tests.observe.scripted import scripted
from tests.replaced import replace
from tests.waiting import PATIENCE_SECONDS


class Section(AdapterSettings):
    """Settings of the fake adapter."""

    number: int = 0
    fails: str = ""


class FailingAdapter(FakeAdapter):
    """Fails as its settings say."""

    def __init__(self, context: AdapterContext[Any]) -> None:
        if context.settings.fails == "adapter":
            raise AdapterError("tokenFile: absent; write it")
        if context.settings.fails == "bug":
            raise KeyError("hunter2")
        super().__init__(context)

    def close(self) -> None:
        super().close()
        if self.context.settings.fails == "close":
            raise KeyError("hunter2")
        if self.context.settings.fails == "closing hangs":
            threading.Event().wait(120)


@pytest.fixture
def harness(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[RuntimeHarness[FailingAdapter]]:
    """A test can set the Runtime's options as the fixture's parameter."""
    options = {"retry_seconds": 0.0} | getattr(request, "param", {})
    with running_runtime(tmp_path, monkeypatch, FailingAdapter, **options) as harness:
        yield harness


Harness = RuntimeHarness[FailingAdapter]


def test_shards_share_a_sources_limit_on_queries(harness: Harness) -> None:
    """Otherwise ten connections would send twenty queries at a time."""
    metrics = tuple(metric(MetricType.EXTERNAL, f"q{number}") for number in range(4))
    with scripted() as server:
        server.hold = threading.Semaphore(0)
        scalers = [on("a", metrics=metrics), on("b", metrics=metrics)]
        harness.follow({"a": Section(), "b": Section()}, scalers, server.url)
        harness.runtime.shards.start()
        server.until(2)
        server.hold.release(6)
        server.until(8)
        assert server.most_at_a_time == 2
        server.hold.release(100)


def test_an_adapter_gets_its_own_name_folder_and_section(harness: Harness) -> None:
    """Two connections of one type must not share a folder."""
    harness.follow({"a": Section(number=1), "b": Section(number=2)}, [on("a"), on("b", "other")])
    contexts = [adapter.context for adapter in harness.built]
    assert [(context.name, context.settings.number) for context in contexts] == [("a", 1), ("b", 2)]
    assert [context.state_dir for context in contexts] == [harness.folder / "adapters" / name for name in ("a", "b")]
    assert all(context.state_dir.is_dir() for context in contexts)


def test_an_adapter_that_drains_nodes_gets_the_name_and_section_of_its_connection(harness: Harness) -> None:
    drain = DrainRule(timedelta(seconds=60), nomad=NodeDrainRule("jobs", timedelta(seconds=60)))
    harness.follow({"a": Section(), "jobs": Section(number=7)}, [on("a", rules=Rules([drain]))])
    contexts = [adapter.context for adapter in harness.built]
    assert [(context.name, context.settings.number) for context in contexts] == [("a", 0), ("jobs", 7)]
    assert contexts[1].state_dir == harness.folder / "adapters" / "jobs"


def test_an_adapter_without_autoscalers_is_not_built(harness: Harness) -> None:
    """It would have nothing to do."""
    harness.follow({"a": Section(), "unused": Section()}, [on("a")])
    assert harness.runtime.adapters == ["a"]


@pytest.mark.parametrize(("dry", "expected"), [((True, True), True), ((True, False), False)])
def test_an_adapter_is_dry_if_all_its_autoscalers_are(harness: Harness, dry: Sequence[bool], expected: bool) -> None:
    """One live autoscaler needs a live adapter, which is told the targets of the dry runs."""
    harness.follow({"a": Section()}, [on("a", f"s{index}", dry_run=each) for index, each in enumerate(dry)])
    context = harness.built[0].context
    assert context.dry_run is expected
    assert context.dry_targets == {TargetRef("a", f"s{index}") for index, each in enumerate(dry) if each}


def test_an_adapter_with_an_unchanged_section_is_kept(harness: Harness) -> None:
    """Its threads, caches and connections continue through a reload."""
    harness.follow({"a": Section()}, [on("a")])
    harness.follow({"a": Section()}, [on("a"), on("a", "new", sync_period=timedelta(seconds=3))], url="http://other")
    assert [adapter.closed for adapter in harness.built] == [0]


@pytest.mark.parametrize("change", ["section", "dry run", "gone"])
def test_an_adapter_with_a_changed_section_is_closed(harness: Harness, change: str) -> None:
    """A new adapter is built if the connection still has autoscalers."""
    harness.follow({"a": Section(), "b": Section()}, [on("a"), on("b", "other")])
    sections = {"a": Section(number=int(change == "section")), "b": Section()}
    scalers = [on("b", "other")] + ([] if change == "gone" else [on("a", dry_run=change == "dry run")])
    harness.follow(sections, scalers)
    assert [adapter.closed for adapter in harness.built[:2]] == [1, 0]
    assert len(harness.built) == (2 if change == "gone" else 3)


@pytest.mark.parametrize(("fails", "expected"), [("adapter", "tokenFile: absent; write it"), ("bug", "KeyError at ")])
def test_an_adapter_that_cannot_be_built_changes_nothing(harness: Harness, fails: str, expected: str) -> None:
    """The running shards continue, and adapters that were already built are closed."""
    harness.follow({"a": Section()}, [on("a")])
    with pytest.raises(AdapterError, match=r"adapters\.z: ") as raised:
        harness.follow({"a": Section(number=1), "z": Section(fails=fails)}, [on("a"), on("z", "other")])
    assert expected in str(raised.value)
    assert "hunter2" not in str(raised.value)
    before, beside = harness.built
    assert (before.closed, beside.closed) == (0, 1)
    assert harness.runtime.adapters == ["a"]


def test_a_constructor_that_hangs_does_not_end_the_wait_for_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The constructor of b returns only once the daemon waits for it."""
    end, waited, wait_for = threading.Event(), threading.Event(), Stop.wait_for

    class Slow(FakeAdapter):
        def __init__(self, context: AdapterContext[Any]) -> None:
            (end if context.name == "hangs" else waited).wait(PATIENCE_SECONDS)
            super().__init__(context)

    def waiting(stop: Stop, future: Future[Any], seconds: float) -> object:
        if seconds == PATIENCE_SECONDS:
            waited.set()
        return wait_for(stop, future, seconds)

    with running_runtime(tmp_path, monkeypatch, Slow, retry_seconds=0.0) as harness:
        monkeypatch.setattr("autoscaler.runtime.building.BUILD_SECONDS", 0.0)
        harness.follow({"hangs": Section()}, [on("hangs")])
        monkeypatch.setattr("autoscaler.runtime.building.BUILD_SECONDS", PATIENCE_SECONDS)
        monkeypatch.setattr(Stop, "wait_for", waiting)
        harness.follow({"hangs": Section(), "b": Section()}, [on("hangs"), on("b")])
        served = harness.served()
        end.set()
    assert served == {"b": {"web"}}


def test_an_adapter_that_fails_to_close_is_a_warning(harness: Harness) -> None:
    """The other adapters are closed all the same."""
    harness.follow({"a": Section(fails="close"), "b": Section()}, [on("a"), on("b", "other")])
    assert harness.runtime.close()
    assert [adapter.closed for adapter in harness.built] == [1, 1]
    ((level, event, keys),) = harness.log.lines
    assert (level, event) == ("warning", "adapter_close_failed")
    assert "hunter2" not in keys["error"]


@pytest.mark.slow
def test_an_adapter_that_hangs_while_it_closes_is_abandoned(harness: Harness) -> None:
    """The process must end."""
    harness.follow({"a": Section(fails="closing hangs"), "b": Section()}, [on("a"), on("b", "other")])
    started = time.monotonic()
    assert harness.runtime.close()
    assert time.monotonic() - started < 60
    assert [adapter.closed for adapter in harness.built] == [1, 1]


def refuse(harness: Harness, monkeypatch: pytest.MonkeyPatch, name: str) -> Callable[[], None]:
    """Make the state refuse to begin shards of this connection. Returns what ends that."""
    begin, refused = harness.state.ledger, {name}

    def ledger(connection: str, number: int, of: int) -> Ledger:
        if connection in refused:
            raise StateError("state /var/lib/autoscaler/state.db: the disk is full; free some space")
        return begin(connection, number, of)

    monkeypatch.setattr(harness.state, "ledger", ledger)
    return refused.clear


def test_a_shard_that_the_state_refuses_begins_when_the_state_allows_it(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk during a reload must not end a shard for good, nor affect another connection."""
    harness.follow({"a": Section(), "b": Section()}, [on("a"), on("b", "other")])
    allow = refuse(harness, monkeypatch, "a")
    failure = harness.follow({"a": Section(number=1), "b": Section(number=1)}, [on("a"), on("b", "other")])
    assert "the disk is full" in str(failure)
    assert harness.runtime.adapters == ["b"]
    harness.runtime.supervise()
    assert [(level, event, keys["adapter"]) for level, event, keys in harness.log.lines] == [
        ("error", "shard_not_begun", "a"),
        ("error", "shard_not_begun", "a"),
    ]
    allow()
    harness.runtime.supervise()
    assert harness.runtime.adapters == ["a", "b"]
    assert [adapter.closed for adapter in harness.built] == [1, 1, 1, 0, 1, 0]  # those of refused shards are closed


def test_the_name_of_a_thread_says_that_it_begins_a_ledger(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dump of the threads shows what a daemon waits for."""
    begin, names = harness.state.ledger, list[str]()

    def ledger(*of: Any) -> Ledger:
        names.append(threading.current_thread().name)
        return begin(*of)

    monkeypatch.setattr(harness.state, "ledger", ledger)
    harness.follow({"a": Section()}, [on("a")])
    assert names == ["ledger"]


def test_a_refused_file_leaves_waiting_shards_waiting(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed reload changes nothing, including shards that could not begin yet."""
    allow = refuse(harness, monkeypatch, "a")
    harness.follow({"a": Section()}, [on("a")])
    with pytest.raises(AdapterError):
        harness.follow({"a": Section(), "z": Section(fails="adapter")}, [on("a"), on("z", "other")])
    allow()
    harness.runtime.supervise()
    assert harness.runtime.adapters == ["a"]


def entries_in_memory() -> list[Entry]:
    gc.collect()
    return [each for each in gc.get_objects() if type(each) is Entry]


def test_a_shard_holds_in_memory_only_what_is_configured(harness: Harness) -> None:
    """Names with a version come and go with each deployment, while a daemon runs for months."""
    others = entries_in_memory()  # of earlier tests; kept alive, so that no new object gets the id of one of them
    theirs = set(map(id, others))
    for version in range(5):
        harness.follow({"a": Section()}, [on("a", f"web-{version}-{number}") for number in range(20)])
        assert harness.runtime.shards.once()
    names = sorted(each.scaler.name for each in entries_in_memory() if id(each) not in theirs and each.scaler)
    assert names == sorted(f"web-4-{number}" for number in range(20))


SPREAD = [f"s{number}" for number in range(8)]
"""Names of targets in three of four shards."""


def test_each_shard_of_a_connection_has_its_own_adapter_and_targets(harness: Harness) -> None:
    """A hanging call must not delay the other shards, so they cannot share an adapter."""
    harness.follow({"a": Section()}, [on("a", name) for name in SPREAD], shards=4)
    served = harness.served()
    assert harness.runtime.adapters == ["a"]
    assert len(harness.built) == len(served)
    assert {adapter.context.name for adapter in harness.built} == {"a"}
    assert sorted(target for targets in served.values() for target in targets) == SPREAD
    assert all(served.values())


def test_a_shard_without_targets_is_not_built(harness: Harness) -> None:
    """Each target is in one shard."""
    harness.follow({"a": Section()}, [on("a", "web")], shards=64)
    assert len(harness.served()) == len(harness.built) == 1
    harness.follow({"a": Section()}, [on("a", "web"), on("a", "api")], shards=64)
    assert len(harness.served()) == len(harness.built) == 2
    assert [adapter.closed for adapter in harness.built] == [0, 0]


def test_the_only_shard_of_a_connection_has_the_connections_name(harness: Harness) -> None:
    """Operators without `shards` read only of adapters."""
    harness.follow({"a": Section()}, [on("a")])
    assert harness.served().keys() == {"a"}
    harness.follow({"a": Section()}, [on("a")], shards=4)
    assert harness.served().keys() == {str(shard_of(TargetRef("a", "web"), 4))}


def test_a_reload_with_other_autoscalers_keeps_every_adapter_ledger_and_observer(harness: Harness) -> None:
    """Ten changes among ten thousand autoscalers must not disturb a cycle."""
    harness.follow({"a": Section()}, [on("a", name) for name in SPREAD], shards=4)
    assert harness.runtime.shards.once()
    before = {name: (one._ledger, one._observer) for name, one in harness.runtime.running.items()}
    changed = [replace(on("a", name), max_replicas=7) for name in SPREAD[:2]]
    harness.follow({"a": Section()}, [*changed, *(on("a", name) for name in SPREAD[2:])], shards=4)
    assert harness.runtime.shards.once()
    assert {name: (one._ledger, one._observer) for name, one in harness.runtime.running.items()} == before
    assert {adapter.closed for adapter in harness.built} == {0}


def test_a_dry_run_of_one_target_affects_only_its_own_shard(harness: Harness) -> None:
    """Only that shard's adapter is built anew."""
    harness.follow({"a": Section()}, [on("a", name) for name in SPREAD], shards=4)
    count = len(harness.built)
    harness.follow({"a": Section()}, [on("a", name, dry_run=name == "s0") for name in SPREAD], shards=4)
    assert sum(adapter.closed for adapter in harness.built) == 1
    assert len(harness.built) == count + 1
    assert harness.built[-1].context.dry_targets == {TargetRef("a", "s0")}


def test_another_number_of_shards_ends_all_shards_of_the_connection(harness: Harness) -> None:
    """Its targets belong to other shards then."""
    harness.follow({"a": Section()}, [on("a", name) for name in SPREAD], shards=4)
    old = list(harness.built)
    harness.follow({"a": Section()}, [on("a", name) for name in SPREAD], shards=2)
    assert all(adapter.closed == 1 for adapter in old)
    served = harness.served()
    assert served.keys() == {"a/1", "a/2"}
    assert served["a/1"] | served["a/2"] == set(SPREAD)


def test_a_hanging_call_keeps_its_claims_for_a_lease_after_its_deadline(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the shard of a renamed connection can serve the targets."""
    harness.follow({"a": Section(), "b": Section()}, [on("a"), on("b", "other")])
    shard = harness.runtime.running[ShardName("a")]
    monkeypatch.setattr(shard._actuator.writers, "writing", lambda: True)
    harness.follow({"b": Section()}, [on("b", "other")])
    found = []
    for seconds in (14.9, 15.0):
        monkeypatch.setattr(shard._actuator.writers, "overdue_seconds", lambda seconds=seconds: seconds)
        harness.runtime.supervise()
        found.append(shard._ledger.is_current())
    assert found == [True, False]


@pytest.mark.parametrize("harness", [{"state_seconds": 0.0}], indirect=True)
def test_an_unresponsive_state_delays_the_main_thread_once_for_all_shards(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With twelve shards and a limit for each, nothing else would be done for three minutes."""
    refuse(harness, monkeypatch, "a")
    assert harness.follow({"a": Section()}, [on("a", name) for name in SPREAD], shards=4) is not None
    assert harness.log.events == ["shard_not_begun"]
    assert [adapter.closed for adapter in harness.built] == [1, 1, 1]
