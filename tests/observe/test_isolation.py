"""An unforeseen error affects only its own autoscaler."""

from typing import Any

import pytest

from autoscaler.config.settings import PrometheusSource
from autoscaler.errors import TargetUnavailable
from autoscaler.model import Failure, MetricType, TargetRef, ValueReading, VictimOrder, VictimRule
from autoscaler.observe import observation, readiness, readings
from autoscaler.observe.observer import Observer
from autoscaler.observe.targets import Connection
from autoscaler.target.contract import RecordingLogger
from tests.observe.build import CLOCK, TARGET, FakeAdapter, call, instance, metric, scaler, state
from tests.servers.ports import free_port

OTHER = TargetRef("fleet", "api")
HURT = scaler(metric(MetricType.EXTERNAL, "odd"), metric(MetricType.EXTERNAL, "sound"), name="hurt")
FINE = scaler(metric(MetricType.EXTERNAL, "sound"), name="fine", target=OTHER, victims=VictimRule(VictimOrder.OLDEST))


def look(log: RecordingLogger | None = None) -> Any:
    """Observe both autoscalers over an unreachable Prometheus."""
    adapter = FakeAdapter({TARGET: state(instance("a")), OTHER: state(instance("b"))})
    log = log or RecordingLogger()
    sources = {"default": PrometheusSource(f"http://127.0.0.1:{free_port()}")}
    seen = Observer(sources, {"fleet": Connection("fleet", adapter, CLOCK, log)}, CLOCK, log)
    try:
        return seen.observe((HURT, FINE), call(5)).observations
    finally:
        seen.close()


def test_a_reading_that_raises_is_an_error_of_its_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    """HPA's rule for failed metrics applies to an answer that no code foresaw."""

    def values(spec: Any, *_: Any) -> Any:
        if spec.query.expr == "sound":
            return ValueReading((1000,))
        raise KeyError("hunter2")

    monkeypatch.setattr(readings, "_values", values)
    seen = look()
    failed, sound = seen["hurt"].readings
    assert isinstance(failed, Failure)
    assert "KeyError at " in str(failed)
    assert "please report it" in str(failed)
    assert "hunter2" not in str(failed)
    assert sound == ValueReading((1000,))
    assert seen["fine"].readings == (ValueReading((1000,)),)


def test_instances_that_cannot_be_completed_are_an_error_of_their_target(monkeypatch: pytest.MonkeyPatch) -> None:
    real = readiness.normalise

    def normalise(known: Any, instances: Any, now: Any) -> Any:
        return real(known, instances, now) if instances[0].name == "b" else 1 // 0

    monkeypatch.setattr(readiness, "normalise", normalise)
    seen = look()
    assert isinstance(seen["hurt"].target, TargetUnavailable)
    assert "fleet/web: its instances could not be read: ZeroDivisionError at" in str(seen["hurt"].target)
    assert [each.name for each in seen["fine"].target.instances] == ["b"]


def test_without_a_ranking_the_back_end_selects_victims(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observation, "rank", lambda *_: 1 // 0)
    log = RecordingLogger()
    assert look(log)["fine"].victims == ()
    (keys,) = [keys for _, event, keys in log.lines if event == "victims_not_ranked"]
    assert keys["autoscaler"] == "fine"
    assert "ZeroDivisionError" in keys["error"]
