"""What a configuration asks for is built, and follows the next one."""

import gc
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from autoscaler.clock import SystemClock
from autoscaler.config.settings import AdapterSection, PrometheusSource, Settings
from autoscaler.errors import AdapterError, AutoscalerError, StateError, TargetError
from autoscaler.metrics import Metrics
from autoscaler.model import (
    Autoscaler,
    Call,
    MetricType,
    ScaleChange,
    ScaleOutcome,
    TargetRef,
    TargetState,
    Written,
    shard_of,
)
from autoscaler.record import Ledger, Retention, State
from autoscaler.record.entries import Entry
from autoscaler.runtime import Runtime
from autoscaler.target import AdapterContext, AdapterSettings
from autoscaler.target.contract.harness import RecordingLogger
from tests.observe.build import metric
from tests.observe.scripted import scripted
from tests.replaced import replace
from tests.schedule.ports import scaler


class Section(AdapterSettings):
    """What the fake adapter may be told."""

    number: int = 0
    fails: str = ""


class FakeAdapter:
    def __init__(self, context: AdapterContext[Section]) -> None:
        if context.settings.fails == "adapter":
            raise AdapterError("tokenFile: absent; write it")
        if context.settings.fails == "bug":
            raise KeyError("hunter2")
        self.context = context
        self.closed = 0

    def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, TargetState | TargetError]:
        return {target: TargetState(1, 1, ()) for target in targets}

    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        return Written(change.size)

    def close(self) -> None:
        self.closed += 1
        if self.context.settings.fails == "close":
            raise KeyError("hunter2")
        if self.context.settings.fails == "closing hangs":
            threading.Event().wait(10)


@dataclass
class House:
    runtime: Runtime
    built: list[FakeAdapter]
    log: RecordingLogger
    state: Path
    opened: State

    def follow(
        self, sections: Mapping[str, Section], scalers: Sequence[Autoscaler], url: str = "http://x", shards: int = 1
    ) -> AutoscalerError | None:
        return self.runtime.follow(
            Settings(
                path=Path("autoscaler.yaml"),
                prometheus={"default": PrometheusSource(url)},
                adapters={name: AdapterSection("fake", section, shards) for name, section in sections.items()},
                autoscalers=tuple(scalers),
            )
        )


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    built: list[FakeAdapter] = []

    def load(type_name: str) -> Callable[[AdapterContext[Section]], FakeAdapter]:
        def build(context: AdapterContext[Section]) -> FakeAdapter:
            built.append(FakeAdapter(context))
            return built[-1]

        return build

    monkeypatch.setattr("autoscaler.runtime.building.load", load)
    state = State.open(None, tmp_path, Retention())
    log = RecordingLogger()
    runtime = Runtime(
        state, tmp_path, SystemClock(), log, lambda batch: None, Metrics(CollectorRegistry(), SystemClock(), "0")
    )
    yield House(runtime, built, log, tmp_path, state)
    runtime.close()
    state.close()


def on(adapter: str, name: str = "web", **changes: Any) -> Autoscaler:
    return replace(scaler(name), target=TargetRef(adapter, name), **changes)


def test_shards_share_a_sources_limit_on_queries(house: House) -> None:
    """Each had its own: ten connections were twenty queries at a time."""
    metrics = tuple(metric(MetricType.EXTERNAL, f"q{number}") for number in range(4))
    with scripted() as server:
        server.hold = threading.Semaphore(0)
        house.follow({"a": Section(), "b": Section()}, [on("a", metrics=metrics), on("b", metrics=metrics)], server.url)
        house.runtime.shards.start()
        server.until(2)
        server.hold.release(6)
        server.until(8)
        assert server.most_at_a_time == 2
        server.hold.release(100)


def test_an_adapter_is_handed_its_own_name_folder_and_section(house: House) -> None:
    """Two connections of one type must not share a folder."""
    house.follow({"a": Section(number=1), "b": Section(number=2)}, [on("a"), on("b", "other")])
    contexts = [adapter.context for adapter in house.built]
    assert [(context.name, context.settings.number) for context in contexts] == [("a", 1), ("b", 2)]
    assert [context.state_dir for context in contexts] == [house.state / "adapters" / name for name in ("a", "b")]
    assert all(context.state_dir.is_dir() for context in contexts)


def test_an_adapter_without_autoscalers_is_not_built(house: House) -> None:
    """Nobody asks it for anything."""
    house.follow({"a": Section(), "unused": Section()}, [on("a")])
    assert house.runtime.adapters == ["a"]


@pytest.mark.parametrize(("dry", "expected"), [((True, True), True), ((True, False), False)])
def test_an_adapter_is_dry_when_all_its_autoscalers_are(house: House, dry: Sequence[bool], expected: bool) -> None:
    """One live autoscaler needs a live adapter; the others still write nothing."""
    house.follow({"a": Section()}, [on("a", f"s{index}", dry_run=each) for index, each in enumerate(dry)])
    assert house.built[0].context.dry_run is expected


def test_an_adapter_is_told_which_of_its_targets_are_dry(house: House) -> None:
    """Beside a live pool, a dry one's workers are not to be started."""
    house.follow({"a": Section()}, [on("a", "live"), on("a", "dry", dry_run=True)])
    assert house.built[0].context.dry_targets == {TargetRef("a", "dry")}


def test_an_adapter_whose_section_is_the_same_is_kept(house: House) -> None:
    """Its threads, caches and connections live through a reload, whatever else changed."""
    house.follow({"a": Section()}, [on("a")])
    house.follow({"a": Section()}, [on("a"), on("a", "new", sync_period=timedelta(seconds=3))], url="http://other")
    assert len(house.built) == 1
    assert house.built[0].closed == 0


@pytest.mark.parametrize("change", ["section", "dry run", "gone"])
def test_an_adapter_that_changed_is_closed(house: House, change: str) -> None:
    """And where it is still wanted, built anew."""
    house.follow({"a": Section(), "b": Section()}, [on("a"), on("b", "other")])
    sections = {"a": Section(number=int(change == "section")), "b": Section()}
    scalers = [on("b", "other")] + ([] if change == "gone" else [on("a", dry_run=change == "dry run")])
    house.follow(sections, scalers)
    assert [adapter.closed for adapter in house.built[:2]] == [1, 0]
    assert len(house.built) == (2 if change == "gone" else 3)


@pytest.mark.parametrize(("fails", "said"), [("adapter", "tokenFile: absent; write it"), ("bug", "KeyError at ")])
def test_an_adapter_that_cannot_be_built_changes_nothing(house: House, fails: str, said: str) -> None:
    """What runs goes on, and what was built beside it is let go."""
    house.follow({"a": Section()}, [on("a")])
    with pytest.raises(AdapterError, match=r"adapters\.z: ") as raised:
        house.follow({"a": Section(number=1), "z": Section(fails=fails)}, [on("a"), on("z", "other")])
    assert said in str(raised.value)
    assert "hunter2" not in str(raised.value)
    before, beside = house.built
    assert (before.closed, beside.closed) == (0, 1)
    assert house.runtime.adapters == ["a"]


def test_an_adapter_that_fails_to_close_is_a_warning(house: House) -> None:
    """What it held is lost either way; the others are closed."""
    house.follow({"a": Section(fails="close"), "b": Section()}, [on("a"), on("b", "other")])
    assert house.runtime.close()
    assert [adapter.closed for adapter in house.built] == [1, 1]
    ((level, event, keys),) = house.log.lines
    assert (level, event) == ("warning", "adapter_close_failed")
    assert "hunter2" not in keys["error"]


@pytest.mark.slow
def test_an_adapter_that_hangs_as_it_closes_is_left(house: House) -> None:
    """The contract gives it a second; the process gives it two."""
    house.follow({"a": Section(fails="closing hangs"), "b": Section()}, [on("a"), on("b", "other")])
    started = time.monotonic()
    assert house.runtime.close()
    assert time.monotonic() - started < 8
    assert [adapter.closed for adapter in house.built] == [1, 1]


def refuse(house: House, monkeypatch: pytest.MonkeyPatch, name: str) -> Callable[[], None]:
    """Let the state begin no shard of this connection. Returns what lets it again."""
    begin, refused = house.opened.ledger, {name}

    def ledger(connection: str, number: int, of: int) -> Ledger:
        if connection in refused:
            raise StateError("state /var/lib/autoscaler/state.db: the disk is full; free some space")
        return begin(connection, number, of)

    monkeypatch.setattr(house.opened, "ledger", ledger)
    monkeypatch.setattr(house.runtime, "_retry_seconds", 0.0)
    return refused.clear


def test_a_shard_that_the_state_refuses_begins_as_soon_as_it_may(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full during a reload must not end shards for good, nor another connection's at all."""
    house.follow({"a": Section(), "b": Section()}, [on("a"), on("b", "other")])
    allow = refuse(house, monkeypatch, "a")
    failure = house.follow({"a": Section(number=1), "b": Section(number=1)}, [on("a"), on("b", "other")])
    assert "the disk is full" in str(failure)
    assert house.runtime.adapters == ["b"]
    house.runtime.supervise()
    assert [(level, event, keys["adapter"]) for level, event, keys in house.log.lines] == [
        ("error", "shard_not_begun", "a"),
        ("error", "shard_not_begun", "a"),
    ]
    allow()
    house.runtime.supervise()
    assert house.runtime.adapters == ["a", "b"]
    assert [adapter.closed for adapter in house.built] == [1, 1, 1, 0, 1, 0]  # of what was refused none is kept


def test_a_file_that_is_refused_leaves_what_waits_waiting(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reload that fails changes nothing: also not what could not begin yet."""
    allow = refuse(house, monkeypatch, "a")
    house.follow({"a": Section()}, [on("a")])
    with pytest.raises(AdapterError):
        house.follow({"a": Section(), "z": Section(fails="adapter")}, [on("a"), on("z", "other")])
    allow()
    house.runtime.supervise()
    assert house.runtime.adapters == ["a"]


def test_the_adapter_of_a_shard_that_the_state_refuses_is_closed(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may hold connections."""
    refuse(house, monkeypatch, "a")
    house.follow({"a": Section()}, [on("a")])
    assert [adapter.closed for adapter in house.built] == [1]


def entries_in_memory() -> list[Entry]:
    gc.collect()
    return [each for each in gc.get_objects() if type(each) is Entry]


def test_a_shard_holds_in_memory_what_is_configured_and_no_more(house: House) -> None:
    """Names that carry a version come and go with each deployment; a daemon runs for months."""
    others = entries_in_memory()  # of tests before this one; held, so that nothing new is taken for one of them
    theirs = set(map(id, others))
    for version in range(5):
        house.follow({"a": Section()}, [on("a", f"web-{version}-{number}") for number in range(20)])
        assert house.runtime.shards.once()
    names = sorted(each.scaler.name for each in entries_in_memory() if id(each) not in theirs and each.scaler)
    assert names == sorted(f"web-4-{number}" for number in range(20))


SPREAD = [f"s{number}" for number in range(8)]
"""Names of targets that fall into three of four shards."""


def shard_names(house: House) -> list[str]:
    """Of those that run."""
    return sorted(str(name) for name in house.runtime._running)


def served(house: House, name: str) -> frozenset[str]:
    """Names of the targets of a shard."""
    (have,) = [have for each, have in house.runtime._running.items() if str(each) == name]
    return frozenset(scaler.target.name for scaler in have.wanted.scalers)


def test_each_shard_of_a_connection_has_an_adapter_and_targets_of_its_own(house: House) -> None:
    """A call that hangs may hold the others up nowhere, so they cannot share an adapter."""
    house.follow({"a": Section()}, [on("a", name) for name in SPREAD], shards=4)
    assert house.runtime.adapters == ["a"]
    assert len(house.built) == len(shard_names(house))
    assert {adapter.context.name for adapter in house.built} == {"a"}
    everywhere = [served(house, name) for name in shard_names(house)]
    assert sorted(target for shard in everywhere for target in shard) == SPREAD
    assert all(everywhere)


def test_a_shard_without_targets_is_not_built(house: House) -> None:
    """One target is in one shard, however many there may be."""
    house.follow({"a": Section()}, [on("a", "web")], shards=64)
    assert len(shard_names(house)) == len(house.built) == 1
    house.follow({"a": Section()}, [on("a", "web"), on("a", "api")], shards=64)
    assert len(shard_names(house)) == len(house.built) == 2
    assert [adapter.closed for adapter in house.built] == [0, 0]


def test_the_only_shard_of_a_connection_is_called_as_the_connection(house: House) -> None:
    """Who never heard of shards reads of adapters."""
    house.follow({"a": Section()}, [on("a")])
    assert shard_names(house) == ["a"]
    house.follow({"a": Section()}, [on("a")], shards=4)
    assert shard_names(house) == [str(shard_of(TargetRef("a", "web"), 4))]


def test_a_reload_with_other_autoscalers_keeps_every_adapter_ledger_and_connection(house: House) -> None:
    """Ten changed of ten thousand must disturb no cycle, and nobody's sessions."""
    house.follow({"a": Section()}, [on("a", name) for name in SPREAD], shards=4)
    assert house.runtime.shards.once()
    before = {name: (have._ledger, have._observer) for name, have in house.runtime._running.items()}
    changed = [replace(on("a", name), max_replicas=7) for name in SPREAD[:2]]
    house.follow({"a": Section()}, [*changed, *(on("a", name) for name in SPREAD[2:])], shards=4)
    assert house.runtime.shards.once()
    assert {name: (have._ledger, have._observer) for name, have in house.runtime._running.items()} == before
    assert {adapter.closed for adapter in house.built} == {0}


def test_a_dry_run_of_one_target_concerns_its_own_shard_alone(house: House) -> None:
    """Its adapter has to be told; the other shards' need not."""
    house.follow({"a": Section()}, [on("a", name) for name in SPREAD], shards=4)
    count = len(house.built)
    house.follow({"a": Section()}, [on("a", name, dry_run=name == "s0") for name in SPREAD], shards=4)
    assert sum(adapter.closed for adapter in house.built) == 1
    assert len(house.built) == count + 1
    assert house.built[-1].context.dry_targets == {TargetRef("a", "s0")}


def test_another_number_of_shards_lets_all_of_the_connection_go_and_no_other(house: House) -> None:
    """Its targets change hands; another connection's are none of its business."""
    sections = {"a": Section()}
    house.follow(sections, [on("a", name) for name in SPREAD], shards=4)
    old = list(house.built)
    house.follow(sections, [on("a", name) for name in SPREAD], shards=2)
    assert all(adapter.closed == 1 for adapter in old)
    assert shard_names(house) == ["a/1", "a/2"]
    assert served(house, "a/1") | served(house, "a/2") == set(SPREAD)


def test_a_state_that_is_silent_holds_the_main_thread_up_once_and_not_once_a_shard(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twelve shards hung at once when the database fell silent: for three minutes nothing else was done or said."""
    refuse(house, monkeypatch, "a")
    monkeypatch.setattr(house.runtime, "_state_seconds", 0.0)  # each takes longer
    assert house.follow({"a": Section()}, [on("a", name) for name in SPREAD], shards=4) is not None
    assert [event for _, event, _ in house.log.lines] == ["shard_not_begun"]
    assert [adapter.closed for adapter in house.built] == [1, 1, 1]
