"""`make test-loaded`: the tests on a busy machine. All of them once, then 20 times those that depend on its speed.

A test depends on it if it, a fixture of it, or a function of tests/ that one of them calls sleeps, waits with a
deadline, or starts a thread, a server or a process. That is found in the code, so no test can lack the mark.
"""

import os
import re
import shutil
import subprocess
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from inspect import unwrap
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final
from zlib import crc32

import pytest
from _pytest.runner import runtestprotocol

MARK: Final = "timed"
SLICE: Final = "TEST_SLICE"
"""The variable that selects a slice of the timed tests' files, as NUMBER/COUNT."""
_BUSY: Final = ("stress-ng", "--cpu", "8", "--quiet")
_TIMES: Final = 20
_SIGNS: Final = frozenset(
    {
        *("HTTPServer", "Popen", "Process", "Thread", "ThreadPoolExecutor", "ThreadingHTTPServer", "Timer"),
        *("create_server", "monotonic", "sleep", "spawn", "subprocess", "until"),
    }
)
"""Names of what sleeps, waits or starts."""
_OURS: Final = ("bench", "demo", "rehearse", "tests")


def mark(item: pytest.Item) -> None:
    """Mark a test that depends on the machine's speed, if its file is in the slice that the environment selects."""
    number, _, count = os.environ.get(SLICE, "1/1").partition("/")
    selected = crc32(item.nodeid.partition("::")[0].encode()) % int(count) == int(number) - 1
    if selected and isinstance(item, pytest.Function) and any(map(depends_on_time, _functions(item))):
        item.add_marker(MARK)


def repeat(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Run a test 20 times and report each. All but fixtures of the session is new each time, as in a new run."""
    hook = item.ihook
    for after in (*([item.session] * (_TIMES - 1)), nextitem):
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        item._initrequest()  # type: ignore[attr-defined]  # of pytest.Function
        for report in runtestprotocol(item, log=False, nextitem=after):  # type: ignore[arg-type]  # any node will do
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


@cache
def depends_on_time(function: Callable[..., Any]) -> bool:
    """Return whether the function, or one of ours that it names, sleeps, waits or starts something."""
    seen, todo = set[FunctionType](), [function]
    while todo:
        one = unwrap(todo.pop())
        if one in seen or not isinstance(one, FunctionType):
            continue
        seen.add(one)
        names = set(_names(one.__code__))
        if names & _SIGNS:
            return True
        for name in names:
            todo += _called(named := one.__globals__.get(name))
            if isinstance(named, ModuleType):
                todo += [each for of in names for each in _called(vars(named).get(of))]
    return False


def _functions(item: pytest.Function) -> Iterator[Callable[..., Any]]:
    """Yield the test's function and those of its fixtures."""
    yield item.function
    for definitions in item._fixtureinfo.name2fixturedefs.values():
        yield from (each.func for each in definitions if each.func.__module__.startswith(_OURS))


def _called(named: Any) -> Iterator[FunctionType]:
    """Yield a function of ours, or the methods of a class of ours, or of its instance."""
    if not str(getattr(named, "__module__", "")).startswith(_OURS):
        return
    if not isinstance(named, FunctionType):
        named = named if isinstance(named, type) else type(named)
        of = (value for each in named.__mro__ if each.__module__.startswith(_OURS) for value in vars(each).values())
        yield from (value for value in map(_plain, of) if isinstance(value, FunctionType))
    else:
        yield named


def _plain(value: Any) -> Any:
    """Return the function of a property, or of a static or class method."""
    return getattr(value, "fget", None) or getattr(value, "func", None) or getattr(value, "__func__", value)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def main() -> int:
    """Return 0 if no test failed."""
    parser = ArgumentParser(prog="make test-loaded", description=__doc__)
    parser.add_argument("--slice", metavar="NUMBER/COUNT", help="only these timed tests, 20 times")
    slice_ = parser.parse_args().slice
    failed = Counter[str]()
    if shutil.which(_BUSY[0]) is None:
        print(f"There is no {_BUSY[0]}; run make servers as root.")
        return 2
    with subprocess.Popen(_BUSY) as busy:
        try:
            if slice_ is None:
                failed.update(_failures())
            failed.update(_failures("-m", MARK, slice_=slice_ or "1/1"))
        finally:
            busy.terminate()
    for name, times in failed.most_common():
        print(f"{times:3} x {name}")
    print(f"{len(failed)} tests failed")
    return bool(failed)


def _failures(*arguments: str, slice_: str = "1/1") -> list[str]:
    """Run the tests. Returns those that failed, each as often as it did."""
    command = (sys.executable, "-m", "pytest", "-q", "-n", "auto", *arguments)
    failed = []
    with subprocess.Popen(command, env=os.environ | {SLICE: slice_}, stdout=subprocess.PIPE, text=True) as tests:
        for line in tests.stdout or ():
            print(line, end="", flush=True)  # the tests take hours
            failed += re.findall(r"^(?:FAILED|ERROR) (\S+)", line)
    return failed or ([] if tests.returncode == 0 else [f"pytest ended with {tests.returncode}"])


if __name__ == "__main__":
    sys.exit(main())
