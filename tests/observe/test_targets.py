"""Adapters are foreign code. Their errors affect only their own targets."""

import threading
from collections import UserDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from autoscaler.errors import TargetError, TargetForbidden, TargetUnavailable
from autoscaler.model import Call, TargetRef, TargetState
from autoscaler.observe.targets import Connection, States, begin
from autoscaler.target.contract import RecordingLogger
from autoscaler.threads import NoThread
from tests.observe.build import CLOCK, TARGET, FakeAdapter, call, instance, state
from tests.waiting import until

OTHER = TargetRef("fleet", "api")
SWARM = TargetRef("swarm", "api")


class Doing(FakeAdapter):
    """An adapter whose observe runs the test's function."""

    def __init__(self, do: Callable[[], Any]) -> None:
        super().__init__({})
        self._do = do

    def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, Any]:
        self.calls.append(targets)
        answer: Mapping[TargetRef, Any] = self._do()
        return answer


def states(
    adapters: Mapping[str, FakeAdapter], *targets: TargetRef, seconds: float = 30, log: RecordingLogger | None = None
) -> States:
    connections = {name: Connection(name, each, CLOCK, log or RecordingLogger()) for name, each in adapters.items()}
    return begin(connections, targets, call(seconds)).states()


def raising(error: BaseException) -> Callable[[], Any]:
    def do() -> Any:
        raise error

    return do


def test_one_call_reads_all_targets_of_a_connection() -> None:
    """Real APIs answer for 50 groups as cheaply as for one. Each target is asked for once."""
    fleet, swarm = FakeAdapter({TARGET: state(), OTHER: state(instance("a"))}), FakeAdapter({SWARM: state()})
    read = states({"fleet": fleet, "swarm": swarm}, TARGET, SWARM, OTHER, TARGET)
    assert read == {TARGET: state(), OTHER: state(instance("a")), SWARM: state()}
    assert (fleet.calls, swarm.calls) == ([(TARGET, OTHER)], [(SWARM,)])


def test_an_error_of_the_call_affects_every_target() -> None:
    """Rejected credentials affect all targets of the connection, but no other connection."""
    error = TargetForbidden("refused")
    read = states({"fleet": Doing(raising(error)), "swarm": FakeAdapter({SWARM: state()})}, TARGET, OTHER, SWARM)
    assert read == {TARGET: error, OTHER: error, SWARM: state()}


@pytest.mark.parametrize("error", [RuntimeError("hunter2"), SystemExit(3)])
def test_an_unexpected_exception_is_an_error_with_its_class(error: BaseException) -> None:
    """Its message is not shown, because it may contain a secret."""
    log = RecordingLogger()
    found = states({"fleet": Doing(raising(error))}, TARGET, log=log)[TARGET]
    assert isinstance(found, TargetUnavailable)
    assert type(error).__name__ in str(found)
    assert "hunter2" not in f"{found}{log.lines}"
    assert log.lines[0][:2] == ("error", "adapter_failed")


@pytest.mark.parametrize("answer", [{}, {TARGET: None}, {TARGET: "up"}, None, []])
def test_a_target_without_a_state_is_an_error(answer: Any) -> None:
    """An adapter that omits a target must not stop the cycle."""
    found = states({"fleet": Doing(lambda: answer)}, TARGET)[TARGET]
    assert isinstance(found, TargetUnavailable)
    assert "fleet/web" in str(found)


WRONG: dict[str, tuple[Any, str]] = {
    "a wrong field": (TargetState(1, 1, (instance("a", None),)), "fleet/web: instances[0].identities is None"),  # type: ignore[arg-type]  # wrong
    "no state": (None, "fleet/web: the answer is None"),
    "an error's class": (TargetError, "fleet/web: the answer is of the type type"),
}


@pytest.mark.parametrize(("answer", "said"), WRONG.values(), ids=WRONG)
def test_a_wrong_answer_for_one_target_names_adapter_type_and_field(answer: Any, said: str) -> None:
    """The operator has to report it. The neighbour's state is unchanged."""
    read = states({"fleet": Doing(lambda: {TARGET: answer, OTHER: state(instance("b"))})}, TARGET, OTHER)
    assert isinstance(read[TARGET], TargetUnavailable)
    assert str(read[TARGET]).startswith(said)
    assert "adapter 'fleet' of type 'Doing' broke its contract, report it to its author" in str(read[TARGET])
    assert read[OTHER] == state(instance("b"))


def test_unrequested_states_are_reported_with_a_missing_one() -> None:
    """Keys of another form are the usual mistake."""
    read = states({"fleet": Doing(lambda: {"web": state(), OTHER: state()})}, TARGET, OTHER)
    assert str(read[TARGET]).startswith("fleet/web: there is no answer for it, but 1 for other targets;")
    assert read[OTHER] == state()


class _Odd(UserDict[Any, Any]):
    """A mapping that breaks while it is read."""

    def __iter__(self) -> Any:
        raise RuntimeError("hunter2")


class _Liar:
    """An object that raises on every access."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("hunter2")


@pytest.mark.parametrize("answer", [_Odd({TARGET: state()}), {TARGET: _Liar()}])
def test_a_value_that_raises_on_access_is_an_error(answer: Any) -> None:
    """Values can contain foreign code too."""
    found = states({"fleet": Doing(lambda: answer)}, TARGET)[TARGET]
    assert isinstance(found, TargetUnavailable)
    assert "hunter2" not in str(found)


def test_a_lack_of_threads_is_an_error_of_these_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process at its limit of tasks."""

    def spawn(name: str, work: object) -> None:
        raise NoThread

    monkeypatch.setattr("autoscaler.observe.targets.spawn", spawn)
    (error,) = states({"fleet": Doing(dict)}, TARGET).values()
    assert isinstance(error, TargetUnavailable)
    assert "no thread could be started; raise the limit" in str(error)


def test_a_hanging_adapter_is_abandoned_and_not_called_again() -> None:
    """One thread calls an adapter at a time, and a cycle cannot wait for a call that never ends."""
    go_on = threading.Event()
    adapter = Doing(lambda: {TARGET: state()} if go_on.wait(60) else {})
    connection = {"fleet": Connection("fleet", adapter, CLOCK, RecordingLogger())}
    try:
        first = begin(connection, [TARGET], call(0.2)).states()[TARGET]
        assert "did not answer before the cycle's deadline" in str(first)
        second = begin(connection, [TARGET], call(0.2)).states()[TARGET]
        assert isinstance(second, TargetError)
        assert connection["fleet"].calling()
        assert connection["fleet"].overdue_seconds() > 0
        _wait_for_threads(1)  # the second cycle's thread gives up at its deadline
        assert len(adapter.calls) == 1
    finally:
        go_on.set()
    _wait_for_threads(0)
    assert not connection["fleet"].calling()
    assert connection["fleet"].overdue_seconds() == 0
    assert begin(connection, [TARGET], call()).states()[TARGET] == state()


def _wait_for_threads(count: int) -> None:
    """Wait until no more than this many threads call the adapter or wait for it."""
    until(
        lambda: sum(thread.name == "adapter-fleet" for thread in threading.enumerate()) <= count,
        f"no more than {count} threads",
    )
