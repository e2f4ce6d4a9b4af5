"""Operators between two expressions: which samples of two merged sides meet.

Both sides must vary in the same labels. Then samples of different members must never meet, and those of one member must
meet exactly as they do where the sides are written for it alone. For a label L that varies:

- Without `on` or `ignoring` all labels are compared. With L on both sides as written, or on neither, comparing the
  merged sides' L as well changes nothing within a member. With L on one side only nothing ever meets: not merged.
- `ignoring(L)` is made to compare L; `on(…)` without L too. Within a member L is equal, so this changes nothing else.
- One to one, the answer's labels are those that were compared; `group_left`, `group_right`, `and`, `unless` keep those
  of one side; `or` those of both. "Many-to-many" and the like fail merged if they fail for a member, and possibly else.

Source: VectorBinop, VectorAnd, VectorOr, VectorUnless and resultMetric of Prometheus' promql/engine.go.
"""

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

import promql_parser as ast

from autoscaler.observe.planner.tagged import Constant, Found, Tagged, Unproven

_SETS: Final = frozenset({"and", "or", "unless"})
_COMPARISONS: Final = frozenset({"==", "!=", ">", "<", ">=", "<="})

Labels: TypeAlias = tuple[str, ...]


def matched(node: Any, left: Found, right: Found) -> tuple[Found, Labels | None]:
    """What two sides make, and the new list of `on` or `ignoring`; None: as it is. Raises Unproven."""
    match left, right:
        case Constant(), Constant():
            return Constant(left.scalar and right.scalar), None
        case Tagged(), Tagged():
            return _both(node, left, right)
        case (Tagged() as tagged, Constant(scalar=True)) | (Constant(scalar=True), Tagged() as tagged):
            return _with_number(node, tagged), None
        case Tagged(), Constant() if str(node.op) == "or" and _is_vector_of_number(node.rhs):
            return _with_fallback(node, left)
    raise Unproven(f"one side of `{node.op}` is the same for all")


def _with_number(node: Any, tagged: Tagged) -> Tagged:
    filters = str(node.op) in _COMPARISONS and not (node.modifier and node.modifier.return_bool)
    if tagged.fallback and filters:
        raise Unproven(f"`{node.op}` may leave nothing of a sample that stands before `or vector(…)`")
    return tagged


def _is_vector_of_number(node: Any) -> bool:
    while isinstance(node, ast.ParenExpr):
        node = node.expr
    return isinstance(node, ast.Call) and bool(node.func.name == "vector")


def _with_fallback(node: Any, tagged: Tagged) -> tuple[Tagged, Labels | None]:
    """`sum(…) or vector(0)`: the right side has no labels, so merged it always stands beside the left one's samples.

    As written it stands there only when the left side is empty: if that has no labels either, the two always match.
    """
    if tagged.others != frozenset() or tagged.fallback:
        raise Unproven("`or vector(…)` stands beside samples with labels")
    return Tagged(tagged.kept, tagged.others, fallback=True), _compared(node, tagged.kept)


def _both(node: Any, left: Tagged, right: Tagged) -> tuple[Tagged, Labels | None]:
    operator, modifier = str(node.op), node.modifier
    if left.fallback or right.fallback:
        raise Unproven(f"`or vector(…)` stands inside of `{operator}`")
    if left.kept.keys() != right.kept.keys():
        raise Unproven(f"the sides of `{operator}` differ in different labels")
    fill = modifier and modifier.fill_values
    if fill and (fill.lhs is not None or fill.rhs is not None):
        raise Unproven("fill modifiers are not known here")
    including, listed = _written(node)
    for label, kept in left.kept.items():
        compared = (label in listed) == including
        if (compared or operator == "or") and kept != right.kept[label]:
            raise Unproven(f"only one side of `{operator}` has {label}")
    return _result(node, left, right), _compared(node, left.kept)


def _written(node: Any) -> tuple[bool, frozenset[str]]:
    """Whether it is `on`, and its labels. What has no list compares as with `ignoring()`."""
    matching = node.modifier and node.modifier.matching
    if not matching:
        return False, frozenset()
    return bool(matching.type == ast.LabelModifierType.Include), frozenset(matching.labels)


def _result(node: Any, left: Tagged, right: Tagged) -> Tagged:
    operator, modifier = str(node.op), node.modifier
    including, listed = _written(node)
    if operator in _SETS:
        if operator != "or":
            return left
        return Tagged(left.kept, None if left.others is None or right.others is None else left.others | right.others)
    if many := _many(modifier, left, right):
        included = frozenset(modifier.group_labels or ())
        if any(label in included for label in many.kept):
            raise Unproven(f"the grouping of `{operator}` takes over a label in which they differ")
        return Tagged(many.kept, None if many.others is None else many.others | included)
    kept = {label: was and (label in listed) == including for label, was in left.kept.items()}
    if including:
        return Tagged(kept, listed)
    return Tagged(kept, None if left.others is None else left.others - listed)


def _many(modifier: Any, left: Tagged, right: Tagged) -> Tagged | None:
    """The side of which many samples may meet one."""
    if modifier and modifier.card == ast.VectorMatchCardinality.ManyToOne:
        return left
    if modifier and modifier.card == ast.VectorMatchCardinality.OneToMany:
        return right
    return None


def _compared(node: Any, labels: Iterable[str]) -> Labels | None:
    """The list of `on` or `ignoring` with which these labels are compared; None without a list."""
    matching = node.modifier and node.modifier.matching
    if not matching:
        return None
    if matching.type == ast.LabelModifierType.Include:
        return (*matching.labels, *(label for label in labels if label not in matching.labels))
    return tuple(label for label in matching.labels if label not in labels)
