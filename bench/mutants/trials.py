"""Runs a room's tests on its mutants. pytest imports and collects the tests once; each trial is a forked child.

The child puts the broken code into the functions that are imported, and into the file, which the processes that a test
starts read. Code outside functions has run when the tests are imported, so a mutant there gets a pytest of its own.

Tests that take long (marked slow, or with many examples) run last, on the mutants that no other test noticed, whether
they cover them or not. Of the other tests, those run that cover the mutant, the most specific ones first.
"""

import ast
import gc
import os
import select
import signal
import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count as count_up
from pathlib import Path
from types import CodeType, FunctionType
from typing import Final, NoReturn

import pytest
from coverage import Coverage

from bench.mutants.places import Mutant, chosen, described, mutants_of
from bench.mutants.rooms import ROOMS, Room

AIM: Final = 0.9
_LONGEST_SECONDS: Final = 1800
"""A mutant may never end."""
_OPTIONS: Final = ("-q", "-s", "-p", "no:cacheprovider")
_mtimes: Final = count_up(1)


def main(arguments: Sequence[str]) -> int:
    """Try the mutants that are asked for: room, count, seeds. Return 1 if the tests miss too many of a seed."""
    name, count, *seeds = arguments
    room = ROOMS[name]
    place = Path(room.place).resolve()
    files = [place] if place.is_file() else sorted(place.rglob("*.py"))
    mutants = [each for path in files for each in mutants_of(path)]
    drawn = {seed: chosen(mutants, int(seed), int(count)) for seed in seeds}
    trials = Trials(room, list(dict.fromkeys(each for some in drawn.values() for each in some)))
    ended = pytest.main([*_OPTIONS, "--basetemp=t", *room.tests, *room.slow], plugins=[trials])
    if ended not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        return int(ended)
    for mutant in trials.mutants:
        if mutant not in trials.found:
            print(f"MISSED {described(mutant)}")
    shares = []
    for seed, some in drawn.items():
        found = sum(each in trials.found for each in some)
        print(f"{name}, seed {seed}: {found} of {len(some)} found (aim: {AIM:.0%})")
        shares.append(found / len(some))
    return int(min(shares) < AIM)


class Trials:
    """A plugin of pytest that runs the collected tests on each mutant."""

    def __init__(self, room: Room, mutants: Sequence[Mutant]) -> None:
        self.room = room
        self.mutants = mutants
        self.found: dict[Mutant, str] = {}
        """The test that noticed each mutant."""
        self._functions: Sequence[FunctionType] = ()
        """The functions of the room."""
        self._failed: list[str] = []
        """In a child: the tests that failed."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests without a mutant, then on each."""
        slow = tuple(self.room.slow)
        wanted = [each for each in session.items if not _is_slow(each) or each.nodeid.startswith(slow)]
        long = sorted(filter(_takes_long, wanted), key=_is_slow)
        short = [each for each in wanted if not _takes_long(each)]
        place = str(Path(self.room.place).resolve())
        cover = Coverage(config_file=False, include=[place, f"{place}/*"])
        failing = _in_child(partial(self._run, short, cover)).splitlines()
        if unknown := set(failing) - {each.nodeid for each in short}:
            raise pytest.UsageError("\n".join(["the tests did not run to their end:", *unknown]))
        for each in failing:
            print(f"left out, since it fails without a mutant: {each}")
        tests = _covered([each for each in short if each.nodeid not in failing])
        self._functions = _functions_of(place)
        gc.freeze()  # each child would search all that is imported for garbage
        covering = {mutant: _that_run(mutant, tests.get(str(mutant.file), {})) for mutant in self.mutants}
        for number, mutant in enumerate(self.mutants, start=1):
            if mutant.in_function:
                self._try(number, mutant, covering[mutant])
        for number, mutant in enumerate(self.mutants, start=1):
            if mutant not in self.found:
                self._try(number, mutant, long if mutant.in_function else [*covering[mutant], *long])
        return True

    def _try(self, number: int, mutant: Mutant, items: Sequence[pytest.Item]) -> None:
        """Run tests on a mutant. Print it with the first one that fails."""
        failed = self._failure(mutant, items)
        if failed is not None:
            self.found[mutant] = failed
            print(f"{number}. {described(mutant)}\n    {failed}", flush=True)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure."""
        if report.failed and report.nodeid not in self._failed:
            self._failed.append(report.nodeid)

    def _run(self, items: Sequence[pytest.Item], cover: Coverage | None = None) -> str:
        """Return the names of the tests that fail, in lines; without coverage, of the first one."""
        if cover:
            cover.start()
        for item, following in zip(items, [*items[1:], None], strict=True):
            if cover:
                cover.switch_context(item.nodeid)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self._failed and not cover:
                break
        if items:
            items[0].session._setupstate.teardown_exact(None)  # noqa: SLF001  # pytest does so after its own loop
        if cover:
            cover.stop()
            cover.save()
        return "\n".join(self._failed)

    def _run_broken(self, file: str, codes: Mapping[tuple[str, int], CodeType], items: Sequence[pytest.Item]) -> str:
        """Put a mutant's code into the functions of its file and run the tests."""
        for each in self._functions:
            if each.__code__.co_filename == file:
                each.__code__ = codes.get((each.__code__.co_qualname, each.__code__.co_firstlineno), each.__code__)
        return self._run(items)

    def _failure(self, mutant: Mutant, items: Sequence[pytest.Item]) -> str | None:
        """Return the first test that fails on a mutant and passes without it, or None."""
        whole = mutant.file.read_text()
        tree = mutant.tree()
        while items:
            _write(mutant.file, ast.unparse(tree))
            failed = self._trial(mutant, tree, items)
            _write(mutant.file, whole)
            if not failed:
                return None
            place = next((place for place, each in enumerate(items) if each.nodeid == failed), None)
            if place is None or not _in_child(partial(self._run, [items[place]])):
                return failed
            items = items[place + 1 :]
        return None

    def _trial(self, mutant: Mutant, tree: ast.Module, items: Sequence[pytest.Item]) -> str:
        """Return the first test that fails on a mutant, or an empty text."""
        if mutant.in_function:
            name = str(mutant.file)
            codes = {(each.co_qualname, each.co_firstlineno): each for each in _codes(compile(tree, name, "exec"))}
            return _in_child(partial(self._run_broken, name, codes, items))
        names = dict.fromkeys(each.nodeid for each in items)
        command = [sys.executable, "-m", "pytest", "-x", *_OPTIONS, "--basetemp=t", *names]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_LONGEST_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return f"no end within {_LONGEST_SECONDS} s"
        said = [line.split(" ")[1] for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        return [*said, f"pytest ended with {done.returncode}"][0] if done.returncode else ""


def _is_slow(item: pytest.Item) -> bool:
    return item.get_closest_marker("slow") is not None


def _takes_long(item: pytest.Item) -> bool:
    return _is_slow(item) or item.get_closest_marker("hypothesis") is not None


def _in_child(run: Callable[[], str]) -> str:
    """Return a function's answer from a forked child. A child that dies or never ends is an answer, too."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _answer(run, writing)
    os.close(writing)
    with os.fdopen(reading) as answer:
        if not select.select([answer], [], [], _LONGEST_SECONDS)[0]:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return f"no end within {_LONGEST_SECONDS} s"
        said = answer.read()
    return said[:-1] if os.waitpid(child, 0)[1] == 0 else f"the tests' process died: {said}"


def _answer(run: Callable[[], str], writing: int) -> NoReturn:
    """Write a function's answer and end the process, without what the parent would do at its end."""
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    status = 1
    try:
        said = run()
        status = 0
    except BaseException:  # noqa: BLE001  # the parent prints it
        said = traceback.format_exc()
    with os.fdopen(writing, "w") as answer:
        answer.write(f"{said}\n")
    os._exit(status)


def _covered(items: Sequence[pytest.Item]) -> Mapping[str, Mapping[int, Sequence[pytest.Item]]]:
    """Return file -> line -> the tests that run it, the most specific ones first."""
    named = {each.nodeid: each for each in items}
    cover = Coverage(config_file=False)
    cover.load()
    data = cover.get_data()
    found = {file: data.contexts_by_lineno(file) for file in data.measured_files()}
    sizes = Counter(test for lines in found.values() for tests in lines.values() for test in tests)
    return {
        file: {
            line: [named[test] for test in sorted(named.keys() & set(tests), key=lambda test: (sizes[test], test))]
            for line, tests in lines.items()
        }
        for file, lines in found.items()
    }


def _that_run(mutant: Mutant, tests: Mapping[int, Sequence[pytest.Item]]) -> Sequence[pytest.Item]:
    """Return the tests that run the mutant's lines. If only an import runs them: all tests that run the file."""
    for lines in (mutant.lines, tests):
        if found := list(dict.fromkeys(test for line in lines for test in tests.get(line, ()))):
            return found
    return []


def _write(file: Path, text: str) -> None:
    """Write a file with a time of its own, so that Python compiles it anew."""
    file.write_text(text)
    second = next(_mtimes)
    os.utime(file, (second, second))


def _functions_of(place: str) -> Sequence[FunctionType]:
    """Return the imported functions of a folder or a file. Several lambdas may share a name and a line.

    Tests make objects that raise errors when `isinstance` asks for their class.
    """
    functions = [each for each in gc.get_objects() if type(each) is FunctionType and each.__name__ != "<lambda>"]
    return [each for each in functions if each.__code__.co_filename.startswith(place)]


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
