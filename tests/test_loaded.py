"""Which tests depend on the machine's speed is found in their code."""

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast

import pytest

from tests import loaded
from tests.daemon import running
from tests.daemon.running import RunningDaemon, running_daemon
from tests.decide.build import QUEUE_15, Life, scaler, value
from tests.loaded import depends_on_time
from tests.waiting import until

ROOT: Final = Path(__file__).parent.parent


class _Waits:
    def look(self) -> None:
        until(lambda: True, "nothing")


_INSTANCE = _Waits()


def _waits() -> None:
    until(lambda: True, "nothing")


def _calls_one_that_waits() -> None:
    _waits()


def _uses_a_class_that_waits() -> None:
    print(RunningDaemon)


def _uses_a_function_that_starts_a_process() -> None:
    print([running_daemon for _ in range(2)])


def _uses_a_function_of_a_module() -> None:
    print(running.finished)


def _uses_an_instance() -> None:
    print(_INSTANCE)


def _is_on_a_virtual_clock() -> None:
    Life(scaler(QUEUE_15), 3).step(value(45_000))


@pytest.mark.parametrize(
    ("function", "timed"),
    [
        (_waits, True),
        (_calls_one_that_waits, True),
        (_uses_a_class_that_waits, True),
        (_uses_a_function_that_starts_a_process, True),
        (_uses_a_function_of_a_module, True),
        (_uses_an_instance, True),
        (_is_on_a_virtual_clock, False),
    ],
)
def test_a_test_that_waits_or_starts_something_is_found(function: Callable[[], None], timed: bool) -> None:
    assert depends_on_time(function) is timed


def test_a_test_is_repeated_with_fixtures_of_its_own(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    torn_down_to, reported = list[Any](), list[str]()

    def run(_: pytest.Item, *, log: bool, nextitem: Any) -> list[str]:
        assert not log
        torn_down_to.append(nextitem)
        return ["set up", "called", "torn down"]

    monkeypatch.setattr(loaded, "runtestprotocol", run)
    hook = SimpleNamespace(
        pytest_runtest_logstart=lambda **_: None,
        pytest_runtest_logfinish=lambda **_: None,
        pytest_runtest_logreport=lambda **given: reported.extend(given.values()),
    )
    item = SimpleNamespace(
        ihook=hook, nodeid="a", location=("a", 1, "a"), session=request.session, _initrequest=lambda: None
    )
    loaded.repeat(cast("pytest.Item", item), following := request.node)
    assert torn_down_to == [request.session] * 19 + [following]
    assert len(reported) == 20 * 3


_ELAPSED: Final = re.compile(r"assert .*(?:monotonic|perf_counter|process_time|thread_time)\(\) - \w+ < ([\d.]+)")
_WAITS: Final = re.compile(r"\b(?:within|within_seconds)=([\d.]+)")


@pytest.mark.parametrize(("limit", "least"), [(_ELAPSED, 20), (_WAITS, 60)], ids=["elapsed", "waits"])
def test_no_test_needs_a_quick_machine(limit: re.Pattern[str], least: float) -> None:
    """A test with a limit of 10 s failed where 9 s are usual. Count the work instead (`tests/operations.py`)."""
    quick = [
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path in (ROOT / "tests").rglob("*.py")
        for found in limit.finditer(path.read_text())
        if float(found[1]) < least
    ]
    assert quick == []
