"""A metered adapter times each call and changes nothing else."""

from collections.abc import Collection, Mapping, Sequence

import pytest

from autoscaler.errors import TargetError, TargetNotFound, TargetUnavailable
from autoscaler.metrics.adapter import metered
from autoscaler.model import Call, Decision, ScaleChange, ScaleOutcome, TargetRef, TargetState, Written
from autoscaler.target import Adapter
from tests.clocks import FakeClock
from tests.decisions import NOW, decision

WEB, API = TargetRef("fleet", "web"), TargetRef("fleet", "api")
CALL = Call(NOW, 10.0)
CHANGE = ScaleChange("web-1", 5, 3, None, "cpu above target")


class FakeAdapter(Adapter):
    """An adapter that takes two seconds for each call and can fail."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.fails: Exception | None = None
        self.states: Mapping[TargetRef, TargetState | TargetError] = {}

    def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, TargetState | TargetError]:
        self._work()
        return self.states

    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        self._work()
        return Written(change.size)

    def _work(self) -> None:
        self.clock.advance(2)
        if self.fails is not None:
            raise self.fails


class FakeAnnouncer(FakeAdapter):
    def announce(self, target: TargetRef, decision: Decision, call: Call) -> None:
        self._work()


class RecordingMeter:
    def __init__(self) -> None:
        self.calls: list[tuple[str, str, float, list[BaseException]]] = []

    def called(
        self, adapter: str, operation: str, seconds: float, errors: Collection[BaseException], targets: int
    ) -> None:
        self.calls.append((adapter, operation, seconds, list(errors)))


class Bench:
    def __init__(self, kind: type[FakeAdapter] = FakeAdapter) -> None:
        self.clock, self.told = FakeClock(), RecordingMeter()
        self.inner = kind(self.clock)
        self.adapter: Adapter = metered("fleet", self.inner, self.told.called, self.clock)


def test_an_observation_is_counted_with_its_failed_targets() -> None:
    """A missing target among fifty is one failure, not a failed call."""
    bench, gone = Bench(), TargetNotFound("no such group")
    bench.inner.states = {WEB: TargetState(1, 1, ()), API: gone}
    assert bench.adapter.observe([WEB, API], CALL) is bench.inner.states
    assert bench.told.calls == [("fleet", "observe", 2.0, [gone])]


def test_an_observation_that_raises_fails_for_all_its_targets() -> None:
    """As the contract says."""
    bench = Bench()
    bench.inner.fails = error = TargetUnavailable("down")
    with pytest.raises(TargetUnavailable):
        bench.adapter.observe([WEB, API], CALL)
    assert bench.told.calls == [("fleet", "observe", 2.0, [error, error])]


def test_an_invalid_answer_is_passed_on() -> None:
    """Foreign code may return anything; the observer reports it."""
    bench = Bench()
    bench.inner.states = None  # type: ignore[assignment]  # as a broken adapter does
    assert bench.adapter.observe([WEB], CALL) is None
    assert bench.told.calls == [("fleet", "observe", 2.0, [])]


@pytest.mark.parametrize("error", [None, TargetUnavailable("down"), KeyError("bug")])
def test_a_write_is_counted_whatever_its_outcome(error: Exception | None) -> None:
    """A failing call takes time too."""
    bench = Bench()
    bench.inner.fails = error
    if error is None:
        assert bench.adapter.scale(WEB, CHANGE, CALL) == Written(5)
    else:
        with pytest.raises(type(error)):
            bench.adapter.scale(WEB, CHANGE, CALL)
    assert bench.told.calls == [("fleet", "scale", 2.0, [error] if error else [])]


def test_a_metered_adapter_announces_only_if_the_adapter_does() -> None:
    """The actuator checks whether an adapter announces."""
    assert not Bench().adapter.implements("announce")
    bench = Bench(FakeAnnouncer)
    assert bench.adapter.implements("announce")
    bench.adapter.announce(WEB, decision(), CALL)
    bench.inner.fails = error = TargetUnavailable("down")
    with pytest.raises(TargetUnavailable):
        bench.adapter.announce(WEB, decision(), CALL)
    assert bench.told.calls == [("fleet", "announce", 2.0, []), ("fleet", "announce", 2.0, [error])]
