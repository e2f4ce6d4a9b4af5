"""Binary operators: which samples of two merged sides match.

Both sides must vary in the same labels. Samples of different members must never match. Those of one member must match
as they do without merging. For a label L that varies:

- Without `on` or `ignoring` all labels are compared. With L on both sides as written, or on neither, comparing the
  merged sides' L as well changes nothing within a member. With L on one side only nothing ever matches: not merged.
- `ignoring(L)` is rewritten to compare L, and so is `on(…)` without L. L is equal within a member, so nothing else
  changes.
- One to one, the answer's labels are those compared. `group_left`, `group_right`, `and` and `unless` keep the labels of
  one side, `or` those of both. "Many-to-many" and similar errors of a member also occur merged, and possibly others.

Source: VectorBinop, VectorAnd, VectorOr, VectorUnless and resultMetric of Prometheus' promql/engine.go.
"""

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

import promql_parser as ast

from autoscaler.fields.kept_labels import samples_of
from autoscaler.observe.planner.expressions import Constant, Found, Unproven, Varying

_SETS: Final = frozenset({"and", "or", "unless"})
_COMPARISONS: Final = frozenset({"==", "!=", ">", "<", ">=", "<="})

Labels: TypeAlias = tuple[str, ...]


def matched(node: Any, left: Found, right: Found) -> tuple[Found, Labels | None]:
    """Return the result of two sides, and the new list of `on` or `ignoring` (None: unchanged). Raises Unproven."""
    match left, right:
        case Constant(), Constant():
            return Constant(left.scalar and right.scalar), None
        case Varying(), Varying():
            return _both(node, left, right)
        case (Varying() as varying, Constant(scalar=True)) | (Constant(scalar=True), Varying() as varying):
            return _with_number(node, varying), None
        case Varying(), Constant() if str(node.op) == "or" and _is_vector_of_number(node.rhs):
            return _with_fallback(node, left)
    raise Unproven(f"one side of `{node.op}` is the same for all")


def _with_number(node: Any, varying: Varying) -> Varying:
    filters = str(node.op) in _COMPARISONS and not (node.modifier and node.modifier.return_bool)
    if varying.fallback and filters:
        raise Unproven(f"`{node.op}` may leave nothing of a sample that stands before `or vector(…)`")
    return varying


def _is_vector_of_number(node: Any) -> bool:
    while isinstance(node, ast.ParenExpr):
        node = node.expr
    return isinstance(node, ast.Call) and bool(node.func.name == "vector")


def _with_fallback(node: Any, varying: Varying) -> tuple[Varying, Labels | None]:
    """Handle `sum(…) or vector(0)`. Merged, the right side without labels always appears beside the left side's
    samples.

    As written, it appears only if the left side is empty. If the left side has no labels either, the two always match.
    """
    if samples_of(node.lhs).labels != frozenset() or varying.fallback:
        raise Unproven("`or vector(…)` stands beside samples with labels")
    return Varying(varying.kept, fallback=True), _compared(node, varying.kept)


def _both(node: Any, left: Varying, right: Varying) -> tuple[Varying, Labels | None]:
    operator = str(node.op)
    if left.fallback or right.fallback:
        raise Unproven(f"`or vector(…)` stands inside of `{operator}`")
    if left.kept.keys() != right.kept.keys():
        raise Unproven(f"the sides of `{operator}` differ in different labels")
    including, listed = _written(node)
    for label, kept in left.kept.items():
        compared = (label in listed) == including
        if (compared or operator == "or") and kept != right.kept[label]:
            raise Unproven(f"only one side of `{operator}` has {label}")
    return _result(node, left, right), _compared(node, left.kept)


def _written(node: Any) -> tuple[bool, frozenset[str]]:
    """Return whether it is `on`, and its labels. Without a list, all labels are compared, as with `ignoring()`."""
    matching = node.modifier and node.modifier.matching
    if not matching:
        return False, frozenset()
    return bool(matching.type == ast.LabelModifierType.Include), frozenset(matching.labels)


def _result(node: Any, left: Varying, right: Varying) -> Varying:
    operator, modifier = str(node.op), node.modifier
    including, listed = _written(node)
    if operator in _SETS:
        return left
    if many := _many(modifier, left, right):
        if any(label in (modifier.group_labels or ()) for label in many.kept):
            raise Unproven(f"the grouping of `{operator}` takes over a label in which they differ")
        return many
    return Varying({label: was and (label in listed) == including for label, was in left.kept.items()})


def _many(modifier: Any, left: Varying, right: Varying) -> Varying | None:
    """Return the "many" side of a many-to-one match, if any."""
    if modifier and modifier.card == ast.VectorMatchCardinality.ManyToOne:
        return left
    if modifier and modifier.card == ast.VectorMatchCardinality.OneToMany:
        return right
    return None


def _compared(node: Any, labels: Iterable[str]) -> Labels | None:
    """Return the list of `on` or `ignoring` that compares these labels; None without a list."""
    matching = node.modifier and node.modifier.matching
    if not matching:
        return None
    if matching.type == ast.LabelModifierType.Include:
        return (*matching.labels, *(label for label in labels if label not in matching.labels))
    return tuple(label for label in matching.labels if label not in labels)
