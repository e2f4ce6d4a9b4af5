"""The labels that the samples of an expression can have, from its text alone.

Source: prometheus.io/docs, "Operators": "Aggregation operators", "Vector matching".
"""

import re
from collections.abc import Collection
from typing import Any, Final, NamedTuple

import promql_parser as ast

INSTANCE_LABELS: Final = ("alloc_id", "task_id", "container_id", "instance_id", "instance")
"""Labels that name an instance if the query has no instanceLabel. The first that a sample has is used."""
_MAX_DEPTH: Final = 300
_KEEPS_SAMPLES: Final = frozenset({"topk", "bottomk", "limitk", "limit_ratio"})
OF_BUCKETS: Final = frozenset({"histogram_quantile", "histogram_fraction"})
"""Functions with one sample for all samples whose labels are equal except for `le`."""
_NEW_LABELS: Final = frozenset({"label_replace", "label_join", "absent", "absent_over_time", "info"})
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Samples(NamedTuple):
    """What is known of the samples of an expression."""

    scalar: bool = False
    """Whether it is one number without labels."""
    labels: frozenset[str] | None = None
    """All labels that a sample can have; None: unknown."""


_ANY: Final = Samples()
_SCALAR: Final = Samples(scalar=True)


def samples_of(node: Any, depth: int = 0) -> Samples:
    """Return what is known of the samples of `node`, which promql-parser made."""
    if depth > _MAX_DEPTH:
        return _ANY
    match node:
        case ast.NumberLiteral() | ast.StringLiteral():
            return _SCALAR
        case ast.ParenExpr() | ast.UnaryExpr() | ast.SubqueryExpr():
            return samples_of(node.expr, depth + 1)
        case ast.AggregateExpr():
            return Samples(labels=_of_aggregation(node, samples_of(node.expr, depth + 1).labels))
        case ast.BinaryExpr():
            left, right = samples_of(node.lhs, depth + 1), samples_of(node.rhs, depth + 1)
            if left.scalar or right.scalar:
                return right if left.scalar else left
            return Samples(labels=_of_two(node, left.labels, right.labels))
        case ast.Call() if node.func.return_type == ast.ValueType.Scalar:
            return _SCALAR
        case ast.Call() if node.func.name not in _NEW_LABELS:
            vectors = [each for each in (samples_of(each, depth + 1) for each in node.args) if not each.scalar]
            if len(vectors) == 1 and node.func.name in OF_BUCKETS and vectors[0].labels is not None:
                return Samples(labels=vectors[0].labels - {"le"})
            return Samples(labels=frozenset()) if not vectors else vectors[0] if len(vectors) == 1 else _ANY
    return _ANY


def names_no_instance(label: str | None, example: str = "") -> str:
    """Return the message for samples without a label that names an instance. `label`: the instanceLabel."""
    wanted, shown = label or " or ".join(INSTANCE_LABELS), f", as {example}" if example else ""
    remedy = f"write sum by ({label_text(label or 'instance')}) (…), or use a metric of type External"
    return f"the query's samples have no label {wanted}{shown}, which would name an instance; {remedy}"


def label_text(name: str) -> str:
    """Return a label's name as PromQL has it: in quotes if it has other characters than Prometheus 2 allows."""
    if _PLAIN_NAME.fullmatch(name):
        return name
    return quoted(name)


def quoted(text: str) -> str:
    """Return a string of PromQL."""
    escaped = text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return f'"{escaped}"'


def instance_labels(label: str | None) -> Collection[str]:
    """Return the labels that may name an instance. `label`: the instanceLabel."""
    return (label,) if label else INSTANCE_LABELS


def _of_aggregation(node: Any, inner: frozenset[str] | None) -> frozenset[str] | None:
    name, modifier = str(node.op), node.modifier
    if name in _KEEPS_SAMPLES:
        return inner
    if name == "count_values":  # it adds a label
        return None
    if modifier is None:
        return frozenset()
    if modifier.type == ast.AggModifierType.By:
        return frozenset(modifier.labels)
    return None if inner is None else inner.difference(modifier.labels)


def _of_two(node: Any, left: frozenset[str] | None, right: frozenset[str] | None) -> frozenset[str] | None:
    """Return the labels of two vectors that are matched."""
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
