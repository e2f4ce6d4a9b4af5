"""Proves that one expression can be asked for many values of a label at once, and finds the changes it needs.

The proof is by induction from the selector up. `Varying` states the invariant. L is a label that varies, v one of its
values, never empty. Sources: Prometheus' promql/engine.go and the pages "Operators" and "Functions" of its docs.

- A selector with `L=~"v|w"` finds what `L="v"` and `L="w"` find, and every series of it carries L. Matchers on the same
  or other labels, `offset` and `@` apply to each series separately.
- Functions over a range or of each sample, and arithmetic or comparison with a number, use one series at a time and
  change no label but the name. A subquery does this at each of its steps.
- An aggregation that keeps L forms separate groups for each v. Any other is rewritten: L is added to `by` or removed
  from `without`, and later removed from the answer. An empty group is absent, merged or not.
- histogram_quantile combines samples that are equal except for `le`, so separately for each v, unless L is `le`.
- label_replace and label_join use one sample at a time. They must neither set L nor read it where it is absent as
  written.
- Two sides are matched by labels (`matching.py`).

Sums add in the same order, because series are sorted, so even the last bit is the same. Exceptions are sums over a
subquery or histogram_quantile, whose order in Prometheus depends on a hash, merged or not. What fails for one member
fails merged. What fails merged may fail for no single member; its members are then asked alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import promql_parser as ast

from autoscaler.config.kept_labels import OF_BUCKETS
from autoscaler.observe.planner import functions
from autoscaler.observe.planner.expressions import Constant, Found, Unproven, Varying
from autoscaler.observe.planner.matching import matched
from autoscaler.observe.planner.nodes import Clause, Kind, Numbering, grouping, is_by

_NAME: Final = "__name__"
_BUCKET: Final = "le"


@dataclass(frozen=True, slots=True)
class Proof:
    """How the merged expression differs from the single ones, apart from the matchers."""

    clauses: Mapping[Clause, tuple[str, ...]]
    """The lists of labels that change."""
    added: frozenset[str]
    """Labels to remove from the answer."""
    fallback: bool
    """Whether the one sample without labels answers members without another sample."""


def prove(root: Any, varying: frozenset[int]) -> Proof:
    """Return how the equality matchers of these numbers can get many values at once. Raises Unproven."""
    prover = _Prover(varying)
    found = prover.visit(root)
    if isinstance(found, Constant):
        raise Unproven("it comes back as one number")
    added = frozenset(label for label, kept in found.kept.items() if not kept)
    return Proof(prover.clauses, added, found.fallback)


class _Prover:
    """Walks a tree in the order of its text."""

    def __init__(self, varying: frozenset[int]) -> None:
        self.varying = varying
        self.numbering = Numbering()
        self.clauses: dict[Clause, tuple[str, ...]] = {}

    def visit(self, node: Any) -> Found:
        match node:
            case ast.VectorSelector():
                return self._selector(node)
            case ast.MatrixSelector():
                return self._selector(node.vector_selector)
            case ast.SubqueryExpr():
                found = self.visit(node.expr)
                _refuse_fallback(found, "a subquery")
                return found
            case ast.ParenExpr() | ast.UnaryExpr():
                return self.visit(node.expr)
            case ast.AggregateExpr():
                return self._aggregation(node)
            case ast.BinaryExpr():
                return self._binary(node)
            case ast.Call():
                return self._call(node)
            case _:
                return Constant(isinstance(node, ast.NumberLiteral))

    def _selector(self, node: Any) -> Found:
        if node.matchers.or_matchers:
            raise Unproven("`or` between matchers is not PromQL's")
        equal = [each for each in node.matchers.matchers if each.op == ast.MatchOp.Equal]
        labels = [each.name for each in equal if next(self.numbering.matchers) in self.varying]
        if _NAME in labels:
            raise Unproven("they differ in the name of the metric")
        return Varying(dict.fromkeys(labels, True)) if labels else Constant(scalar=False)

    def _aggregation(self, node: Any) -> Found:
        clause, operation = self.numbering.clause(Kind.GROUPING), str(node.op)
        if node.param is not None:
            self.visit(node.param)  # a number or a string, in which nothing varies, because scalar() is not merged
        inner = self.visit(node.expr)
        if isinstance(inner, Constant):
            return inner
        if operation not in functions.AGGREGATIONS:
            raise Unproven(f"{operation}() is not one of the aggregations that can be merged")
        _refuse_fallback(inner, f"{operation}()")
        listed = grouping(node)
        if is_by(node):
            self._change(clause, listed, (*listed, *(label for label in inner.kept if label not in listed)))
            kept = {label: label in listed and was for label, was in inner.kept.items()}
        else:
            self._change(clause, listed, tuple(label for label in listed if label not in inner.kept))
            kept = {label: label not in listed and was for label, was in inner.kept.items()}
        return Varying(kept)

    def _call(self, node: Any) -> Found:
        name, args = node.func.name, [self.visit(each) for each in node.args]
        inner = next((each for each in args if isinstance(each, Varying)), None)
        if inner is None:
            return Constant(bool(node.func.return_type == ast.ValueType.Scalar))
        if name in functions.OF_LABELS:
            return _labelled(node, inner)
        if name in functions.OF_EACH_SAMPLE or name in functions.OF_A_RANGE:
            return inner
        if name in OF_BUCKETS:
            if _BUCKET in inner.kept:
                raise Unproven(f"{name}() looks at all values of {_BUCKET}, in which they differ")
            _refuse_fallback(inner, f"{name}()")
            return inner
        raise Unproven(f"{name}() is not one of the functions that can be merged")

    def _binary(self, node: Any) -> Found:
        left = self.visit(node.lhs)
        written = node.modifier and node.modifier.matching
        clause = self.numbering.clause(Kind.MATCHING) if written else None
        right = self.visit(node.rhs)
        result, labels = matched(node, left, right)
        if clause and labels is not None:
            self._change(clause, tuple(written.labels), labels)
        return result

    def _change(self, clause: Clause, before: tuple[str, ...], after: tuple[str, ...]) -> None:
        if before != after:
            self.clauses[clause] = after


def _refuse_fallback(found: Found | None, where: str) -> None:
    """Raise Unproven for a fallback inside another expression. Only the whole expression shows whose answer it is."""
    if isinstance(found, Varying) and found.fallback:
        raise Unproven(f"`or vector(…)` stands inside of {where}")


def _labelled(node: Any, inner: Varying) -> Varying:
    name, made, read = node.func.name, node.args[1].val, {each.val for each in node.args[3:]}
    if made in inner.kept:
        raise Unproven(f"{name}() sets {made}, in which they differ")
    if any(label in read and not kept for label, kept in inner.kept.items()):
        raise Unproven(f"{name}() reads a label that is not there")
    _refuse_fallback(inner, f"{name}()")
    return inner
