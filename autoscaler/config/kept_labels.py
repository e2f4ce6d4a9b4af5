"""Which labels the samples of an expression may carry, known from its text alone.

Source: prometheus.io/docs, "Operators": "Aggregation operators", "Vector matching".
"""

import re
from collections.abc import Callable, Collection
from typing import Any, Final

import promql_parser as ast

INSTANCE_LABELS: Final = ("alloc_id", "task_id", "container_id", "instance_id", "instance")
"""Labels that name an instance when the query says none; the first that a sample carries counts."""
_DEEPEST: Final = 100
_KEEPS_SAMPLES: Final = frozenset({"topk", "bottomk", "limitk", "limit_ratio"})
_NEW_LABELS: Final = frozenset({"label_replace", "label_join", "absent", "absent_over_time", "info"})
_AGGREGATION: Final = re.compile(
    r"\b(?:sum|avg|min|max|count|group|stddev|stdvar|quantile)\s*(?:\(|\bby\b|\bwithout\b)", re.IGNORECASE
)
_QUOTED: Final = re.compile(r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`""")


def kept_labels(root: Any, is_scalar: Callable[[Any], bool]) -> frozenset[str] | None:
    """All that a sample may carry; None: any, as far as is known.

    `root`: promql-parser's; `is_scalar`: whether a node comes back as a number without labels.
    """
    return _kept(root, is_scalar, 0)


def names_no_instance(expr: str, label: str | None, example: str = "") -> str:
    """What to say of an expression whose samples carry no label that names an instance. `label`: the instanceLabel."""
    shown = f", as {example}" if example else ""
    remedy = f"write sum by ({label or 'instance'}) (…), or use a metric of type External"
    if _AGGREGATION.search(_QUOTED.sub('""', expr)):
        return f"the query aggregates the instance label away{shown}; {remedy}"
    wanted = label or " or ".join(INSTANCE_LABELS)
    return f"the query's samples have no label {wanted}{shown}, which would name an instance; {remedy}"


def instance_labels(label: str | None) -> Collection[str]:
    """The labels that may name an instance. `label`: the instanceLabel."""
    return (label,) if label else INSTANCE_LABELS


def _kept(node: Any, is_scalar: Callable[[Any], bool], depth: int) -> frozenset[str] | None:
    if depth > _DEEPEST:
        return None

    def kept(inner: Any) -> frozenset[str] | None:
        return _kept(inner, is_scalar, depth + 1)

    match node:
        case ast.ParenExpr() | ast.UnaryExpr() | ast.SubqueryExpr():
            return kept(node.expr)
        case ast.AggregateExpr():
            return _of_aggregation(node, kept)
        case ast.BinaryExpr() if is_scalar(node.lhs):
            return kept(node.rhs)
        case ast.BinaryExpr() if is_scalar(node.rhs):
            return kept(node.lhs)
        case ast.BinaryExpr():
            return _of_two(node, kept(node.lhs), kept(node.rhs))
        case ast.Call() if node.func.name not in _NEW_LABELS:
            vectors = [each for each in node.args if not is_scalar(each) and not isinstance(each, ast.StringLiteral)]
            return frozenset() if not vectors else kept(vectors[0]) if len(vectors) == 1 else None
        case _:
            return None


def _of_aggregation(node: Any, kept: Callable[[Any], frozenset[str] | None]) -> frozenset[str] | None:
    name, modifier = str(node.op), node.modifier
    if name in _KEEPS_SAMPLES:
        return kept(node.expr)
    if name == "count_values":  # it adds a label
        return None
    if modifier is None:
        return frozenset()
    if modifier.type == ast.AggModifierType.By:
        return frozenset(modifier.labels)
    inner = kept(node.expr)
    return None if inner is None else inner.difference(modifier.labels)


def _of_two(node: Any, left: frozenset[str] | None, right: frozenset[str] | None) -> frozenset[str] | None:
    """Of two vectors that are matched."""
    name, modifier = str(node.op), node.modifier
    if name in ("and", "unless"):
        return left
    if name == "or":
        return None if left is None or right is None else left | right
    if modifier is not None and modifier.card != ast.VectorMatchCardinality.OneToOne:
        many = left if modifier.card == ast.VectorMatchCardinality.ManyToOne else right
        return None if many is None else many.union(modifier.group_labels or ())
    matching = None if modifier is None else modifier.matching
    if matching is not None and matching.type == ast.LabelModifierType.Include:
        return frozenset(matching.labels)
    both = right if left is None else left if right is None else left & right
    return both if both is None or matching is None else both.difference(matching.labels)
