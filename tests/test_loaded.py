"""Which tests depend on the machine's speed is found in their code."""

from collections.abc import Callable

import pytest

from tests.daemon import running
from tests.daemon.running import RunningDaemon, running_daemon
from tests.decide.build import QUEUE_15, Life, scaler, value
from tests.loaded import depends_on_time
from tests.waiting import until


class _Waits:
    def look(self) -> None:
        until(lambda: True, "nothing")


_WAITS = _Waits()


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
    print(_WAITS)


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
