"""Whether the tests notice: `make mutants` breaks one place after another, and runs the tests of its room.

Ninety-nine places of the decision pipeline and the ledger, chosen by a seed: a comparison, a sum, a condition, a
number. Exit 1 where the tests find fewer than nine in ten. ARGS="--seed 2" chooses others.
"""

import ast
import random
import shutil
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Final, NamedTuple

PROJECT: Final = Path(__file__).resolve().parents[1]
_QUICK: Final = ("-m", "not slow")
ROOMS: Final = {
    "autoscaler/decide": ("tests/decide", "tests/conformance", "tests/documents"),
    "autoscaler/observe": (*_QUICK, "tests/observe"),
    "autoscaler/record/ledger.py": (*_QUICK, "tests/record", "tests/daemon", "tests/act"),
}
"""What is broken, and pytest's arguments for the tests that must notice."""
AIM: Final = 0.9
_COPIED: Final = ("autoscaler", "adapters", "config", "tests", "bench", "tools", "docs", "pyproject.toml", "README.md")
_LONGEST_SECONDS: Final = 600
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
"""Larger numbers are limits and durations, of which one more or less is mostly as good."""


class Mutant(NamedTuple):
    """One broken place."""

    file: Path
    """Within the project."""
    line: int
    before: str
    after: str
    source: str
    """Of the whole file, broken."""


def main(arguments: Sequence[str]) -> int:
    """Print the mutants that no test noticed; 1 where they are too many."""
    parser = ArgumentParser(prog="python -m bench.mutants", description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("--seed", type=int, default=1, help="(%(default)s)")
    parser.add_argument("--count", type=int, default=99, help="mutants, a third in each room (%(default)s)")
    asked = parser.parse_args(arguments)
    chance, chosen = random.Random(asked.seed), list[tuple[Mutant, Sequence[str]]]()
    for room, tests in ROOMS.items():
        mutants = [mutant for path in _files(PROJECT / room) for mutant in mutants_of(path)]
        chosen += [(mutant, tests) for mutant in chance.sample(mutants, min(asked.count // len(ROOMS), len(mutants)))]
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        copy = Path(name)
        for each in _COPIED:
            source = PROJECT / each
            (shutil.copytree if source.is_dir() else shutil.copy2)(source, copy / each)
        if (PROJECT / ".cache").exists():  # the servers that tests run
            (copy / ".cache").symlink_to(PROJECT / ".cache")
        for tests in ROOMS.values():
            if _noticed(copy, tests):
                sys.exit(f"{' '.join(tests)} fails as it is; nothing can be said of mutants")
        found = 0
        for number, (mutant, its_tests) in enumerate(chosen, start=1):
            noticed = _broken(copy, mutant, its_tests)
            found += noticed
            word = "found" if noticed else "MISSED"
            print(f"{number:>3} {word:<6} {mutant.file}:{mutant.line}: {mutant.before}  ->  {mutant.after}", flush=True)
    print(f"{found} of {len(chosen)} found   aim: {AIM:.0%}")
    return 0 if found >= AIM * len(chosen) else 1


def _files(room: Path) -> list[Path]:
    return [room] if room.is_file() else sorted(room.rglob("*.py"))


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Every place of a file that can be broken, each by itself."""
    tree = ast.parse(path.read_text())
    for number, node in enumerate(ast.walk(tree)):
        if _replaced(node) is None:
            continue
        broken = deepcopy(tree)
        place = next(each for index, each in enumerate(ast.walk(broken)) if index == number)
        before = _first_line(place)
        for field, value in (_replaced(place) or {}).items():
            setattr(place, field, value)
        yield Mutant(path.relative_to(PROJECT), node.lineno, before, _first_line(place), ast.unparse(broken))  # type: ignore[attr-defined]


def _first_line(node: ast.AST) -> str:
    return ast.unparse(node).partition("\n")[0]


def _replaced(node: ast.AST) -> dict[str, object] | None:
    """The fields of a node that break it; None: it is no place to break."""
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


def _broken(copy: Path, mutant: Mutant, tests: Sequence[str]) -> bool:
    """Whether its tests notice it."""
    place = copy / mutant.file
    whole = place.read_text()
    place.write_text(mutant.source)
    try:
        return _noticed(copy, tests)
    finally:
        place.write_text(whole)


def _noticed(copy: Path, tests: Sequence[str]) -> bool:
    options = ["-x", "-q", "-n", "auto", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, *tests]
    try:
        done = subprocess.run(command, cwd=copy, capture_output=True, timeout=_LONGEST_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
