"""The places of a file that can be broken, and how.

Some code is never broken, because no test can notice it: the keywords of a class (frozen, slots) and code under
`if TYPE_CHECKING`, which the type checker checks, and zip's `strict`, which is an assertion.
"""

import ast
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

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


class Mutant(NamedTuple):
    """A file with one broken place."""

    file: Path
    lines: range
    """Lines of the statement, without those of the statements in it."""
    before: str
    after: str
    number: int
    """The place among the nodes of the file."""
    in_function: bool
    """Whether the place is in the body of a function."""

    def tree(self) -> ast.Module:
        """Return the whole file, broken. The lines are those of the file."""
        tree = ast.parse(self.file.read_text())
        _break(next(islice(ast.walk(tree), self.number, None)))
        return ast.fix_missing_locations(tree)


def chosen(mutants: Sequence[Mutant], seed: int, count: int) -> Sequence[Mutant]:
    """Return a random sample in which each mutant's chance depends on its own text and its file's name only."""
    drawn: list[tuple[float, Mutant]] = []
    alike = Counter[str]()
    for mutant in mutants:
        text = f"{mutant.file.name} {mutant.before} {mutant.after}"
        drawn.append((random.Random(f"{seed} {text} {alike[text]}").random(), mutant))
        alike[text] += 1
    return [mutant for _, mutant in sorted(drawn)[:count]]


def described(mutant: Mutant) -> str:
    """Return a mutant's place and change."""
    return f"{mutant.file.relative_to(Path.cwd())}:{mutant.lines[0]}: {mutant.before}  ->  {mutant.after}"


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield a mutant for each place of a file that can be broken."""
    tree = ast.parse(path.read_text())
    left = {id(each) for node in ast.walk(tree) for part in _not_for_tests(node) for each in ast.walk(part)}
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inner = {id(each) for function in functions for part in function.body for each in ast.walk(part)}
    lines = {id(each): _lines(statement) for statement in statements for each in ast.walk(statement)}
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in left or _replaced(node) is None:
            continue
        broken = deepcopy(node)
        _break(broken)
        yield Mutant(path, lines[id(node)], _first_line(node), _first_line(broken), number, id(node) in inner)


def _break(node: ast.AST) -> None:
    for field, value in (_replaced(node) or {}).items():
        setattr(node, field, value)


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
