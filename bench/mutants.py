"""Checks that the tests notice broken code: `make mutants` breaks one place at a time and runs the tests that cover it.

A seed chooses 99 places in the decision pipeline, the observer and the ledger: comparisons, sums, conditions, small
numbers. Some code is never broken, because no test can notice it: the keywords of a class (frozen, slots) and code
under `if TYPE_CHECKING`, which the type checker checks, and zip's `strict`, which is an assertion. The exit code is 1
if the tests find fewer than nine in ten. ARGS="--seed 2" chooses other places, ARGS="--room observe" breaks one room.
"""

import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Final, NamedTuple

from coverage import CoverageData

PROJECT: Final = Path(__file__).resolve().parents[1]
AIM: Final = 0.9
_COPIED: Final = ("autoscaler", "adapters", "config", "tests", "bench", "tools", "docs", "pyproject.toml", "README.md")
_LONGEST_SECONDS: Final = 1800
"""A mutant may never end."""
_COMPARED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_CALCULATED: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
}  # fmt: skip
_BOUNDS: Final = {"min": "max", "max": "min", "any": "all", "all": "any"}
_SMALL: Final = (0, 1, 2)
"""Larger numbers are limits and durations, where one more or less rarely matters."""


class Room(NamedTuple):
    """A part of the product, and the tests that must notice its mutants."""

    place: str
    tests: Sequence[str]
    """Paths of the quick tests."""
    slow: Sequence[str] = ()
    """Paths whose slow tests are run, too."""


ROOMS: Final = {
    "decide": Room("autoscaler/decide", ("tests/decide", "tests/documents"), ("tests/conformance",)),
    "observe": Room(
        "autoscaler/observe", ("tests/observe",), ("tests/observe/planner", "tests/observe/test_causes.py")
    ),
    "ledger": Room("autoscaler/record/ledger.py", ("tests/record", "tests/act", "tests/daemon")),
}


class Mutant(NamedTuple):
    """A file with one broken place."""

    file: Path
    lines: range
    """Lines of the statement, without those of the statements in it."""
    before: str
    after: str
    source: str
    """The whole file, broken."""


def main(arguments: Sequence[str]) -> int:
    """Print each mutant with the test that failed. Return 1 if the tests missed too many."""
    parser = ArgumentParser(prog="python -m bench.mutants", description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("--seed", type=int, nargs="+", default=[1], help="(%(default)s)")
    parser.add_argument("--count", type=int, default=33, help="mutants for each room and seed (%(default)s)")
    parser.add_argument("--room", choices=ROOMS, help="break this room only")
    asked = parser.parse_args(arguments)
    results = Counter[tuple[int, bool]]()
    for room in (asked.room,) if asked.room else ROOMS:
        with tempfile.TemporaryDirectory(prefix="mutants-") as name:
            results.update(_tried(Path(name), room, asked.seed, asked.count))
    for seed in asked.seed:
        print(f"seed {seed}: {results[seed, True]} of {results[seed, True] + results[seed, False]} found")
    print(f"aim: {AIM:.0%}")
    return 0 if all(results[seed, False] <= (1 - AIM) * results[seed, True] / AIM for seed in asked.seed) else 1


def _tried(copy: Path, name: str, seeds: Sequence[int], count: int) -> Iterator[tuple[int, bool]]:
    """Yield each mutant's seed, and whether a test failed. The mutants depend only on the seed and the room's files."""
    for each in _COPIED:
        source = PROJECT / each
        (shutil.copytree if source.is_dir() else shutil.copy2)(source, copy / each)
    if (PROJECT / ".cache").exists():  # the servers that tests run
        (copy / ".cache").symlink_to(PROJECT / ".cache")
    room = ROOMS[name]
    tests = _covered(copy, room)
    mutants = [mutant for path in _files(copy / room.place) for mutant in mutants_of(path)]
    for seed in seeds:
        for number, mutant in enumerate(random.Random(seed).sample(mutants, min(count, len(mutants))), start=1):
            whole = mutant.file.read_text()
            mutant.file.write_text(mutant.source)
            failed = _failure(copy, _that_run(mutant, tests[str(mutant.file)]))
            mutant.file.write_text(whole)
            place = f"{mutant.file.relative_to(copy)}:{mutant.lines[0]}"
            print(f"{name} {seed}.{number:02} {place}: {mutant.before}  ->  {mutant.after}")
            print(f"    {failed or 'MISSED'}", flush=True)
            yield seed, failed is not None


def _covered(copy: Path, room: Room) -> Mapping[str, Mapping[int, Sequence[str]]]:
    """Return file -> line -> the tests that run it, the most specific tests first. Exits if a test fails."""
    folder = room.place if (copy / room.place).is_dir() else str(Path(room.place).parent)
    options = [f"--cov={folder}", "--cov-append", "--cov-context=test", "--cov-report="]
    for mark, where in (("not slow", room.tests), ("slow", room.slow)):
        if where and (failed := _failure(copy, [*options, "-m", mark, *where])):
            sys.exit(f"a test fails without a mutant: {failed}")
    data = CoverageData(str(copy / ".coverage"))
    data.read()
    found = {file: data.contexts_by_lineno(file) for file in data.measured_files()}
    sizes = Counter(_test(context) for lines in found.values() for contexts in lines.values() for context in contexts)
    return {
        file: {
            line: sorted({_test(each) for each in contexts if each}, key=sizes.__getitem__)
            for line, contexts in lines.items()
        }
        for file, lines in found.items()
    }


def _test(context: str) -> str:
    """Return the test function of a context such as tests/a.py::test_b[c]|run."""
    return context.partition("[")[0].partition("|")[0]


def _that_run(mutant: Mutant, tests: Mapping[int, Sequence[str]]) -> Sequence[str]:
    """Return the tests that run the mutant's lines. If only an import runs them: all tests that run the file."""
    for lines in (mutant.lines, tests):
        if found := list(dict.fromkeys(test for line in lines for test in tests.get(line, ()))):
            return found
    return []


def _failure(copy: Path, arguments: Sequence[str]) -> str | None:
    """Run pytest and return the first test that fails, or None. Without arguments, no test can fail."""
    if not arguments:
        return None
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *arguments]
    environment = os.environ | {"COVERAGE_FILE": str(copy / ".coverage")}
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, timeout=_LONGEST_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"no end within {_LONGEST_SECONDS} s"
    if done.returncode == 0:
        return None
    said = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return (said or [f"pytest ended with {done.returncode}"])[0]


def _files(room: Path) -> list[Path]:
    return [room] if room.is_file() else sorted(room.rglob("*.py"))


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield a mutant for each place of a file that can be broken."""
    tree = ast.parse(path.read_text())
    left = {id(each) for node in ast.walk(tree) for part in _not_for_tests(node) for each in ast.walk(part)}
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    lines = {id(each): _lines(statement) for statement in statements for each in ast.walk(statement)}
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in left or _replaced(node) is None:
            continue
        broken = deepcopy(tree)
        place = next(each for index, each in enumerate(ast.walk(broken)) if index == number)
        before = _first_line(place)
        for field, value in (_replaced(place) or {}).items():
            setattr(place, field, value)
        yield Mutant(path, lines[id(node)], before, _first_line(place), ast.unparse(broken))


def _lines(statement: ast.stmt) -> range:
    match statement:
        case ast.If() | ast.While() | ast.For() | ast.With() | ast.Try() | ast.FunctionDef() | ast.ClassDef():
            return range(statement.lineno, max(statement.lineno + 1, statement.body[0].lineno))
    return range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)


def _not_for_tests(node: ast.AST) -> Sequence[ast.AST]:
    """Return the parts of a node that are never broken."""
    match node:
        case ast.ClassDef(decorator_list=decorators, keywords=keywords):
            return [*decorators, *keywords]
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return [node]
        case ast.Call(func=ast.Name(id="zip"), keywords=keywords):
            return keywords
    return []


def _first_line(node: ast.AST) -> str:
    return ast.unparse(node).partition("\n")[0]


def _replaced(node: ast.AST) -> dict[str, object] | None:
    """Return the fields that break a node, or None if it is not a place to break."""
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in _COMPARED:
            return {"ops": [_COMPARED[type(operator)]()]}
        case ast.BoolOp(op=operator):
            return {"op": ast.Or() if isinstance(operator, ast.And) else ast.And()}
        case ast.BinOp(op=operator, left=left, right=right) if type(operator) in _CALCULATED:
            if any(isinstance(each, ast.Constant) and isinstance(each.value, str) for each in (left, right)):
                return None
            return {"op": _CALCULATED[type(operator)]()}
        case ast.Constant(value=bool(value)):
            return {"value": not value}
        case ast.Constant(value=int(value)) if value in _SMALL:
            return {"value": value + 1}
        case ast.Name(id=name) if name in _BOUNDS:
            return {"id": _BOUNDS[name]}
        case ast.If(test=test) | ast.IfExp(test=test) if not isinstance(test, ast.Compare | ast.BoolOp):
            return {"test": ast.UnaryOp(ast.Not(), test)}
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
