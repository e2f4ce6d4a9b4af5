"""Proves that one expression can be asked for many values of a label at once, and writes the merged expression.

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

promql-parser's nodes have neither positions nor setters. So the walk that proves also writes the expression, in the
order of its text.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import promql_parser as ast

from autoscaler.fields.kept_labels import OF_BUCKETS, label_text, quoted
from autoscaler.observe.planner import functions
from autoscaler.observe.planner.expressions import Constant, Found, Unproven, Varying
from autoscaler.observe.planner.matching import matched
from autoscaler.observe.selectors import matcher_of

_NAME: Final = "__name__"
_BUCKET: Final = "le"
_NOTHING: Final[Mapping[int, str]] = {}


@dataclass(frozen=True, slots=True)
class Proof:
    """How the merged expression differs from the single ones, apart from the matchers."""

    pieces: tuple[str, ...]
    """The merged text around the equality matchers."""
    added: frozenset[str]
    """Labels to remove from the answer."""
    fallback: bool
    """Whether the one sample without labels answers members without another sample."""
    equalities: tuple[tuple[str, str], ...]
    """Label and value of each equality matcher, in the order of the text."""


def prove(root: Any, varying: frozenset[int]) -> Proof:
    """Return how the equality matchers of these numbers can get many values at once. Raises Unproven."""
    prover = _Prover(varying)
    found = prover.visit(root)
    if isinstance(found, Constant):
        raise Unproven("it comes back as one number")
    matchers = [f"{label_text(label)}={quoted(value)}" for label, value in prover.equalities]
    pieces = prover.pieces(_NOTHING)
    unchanged = pieces[0] + "".join(map("".join, zip(matchers, pieces[1:], strict=True)))
    if str(ast.parse(unchanged)) != str(root):
        raise Unproven("its text could not be written")
    added = frozenset(label for label, kept in found.kept.items() if not kept)
    return Proof(prover.pieces(prover.changed), added, found.fallback, tuple(prover.equalities))


class _Prover:
    """Walks a tree in the order of its text, and writes it."""

    def __init__(self, varying: frozenset[int]) -> None:
        self.varying = varying
        self.equalities: list[tuple[str, str]] = []
        self.changed: dict[int, str] = {}
        """Index of a part -> its text in the merged expression."""
        self._parts: list[str | None] = []
        """The text as written; None for an equality matcher."""

    def pieces(self, changed: Mapping[int, str]) -> tuple[str, ...]:
        """Return the text around the equality matchers, with these parts changed."""
        found = [""]
        for at, part in enumerate(self._parts):
            if part is None:
                found.append("")
            else:
                found[-1] += changed.get(at, part)
        return tuple(found)

    def visit(self, node: Any) -> Found:
        match node:
            case ast.VectorSelector():
                return self._selector(node, "")
            case ast.MatrixSelector():
                return self._selector(node.vector_selector, f"[{_duration(node.range)}]")
            case ast.SubqueryExpr():
                found = self.visit(node.expr)
                step = "" if node.step is None else _duration(node.step)
                self._write(f"[{_duration(node.range)}:{step}]{_time(node)}")
                _refuse_fallback(found, "a subquery")
                return found
            case ast.ParenExpr():
                return self._enclosed("(", node.expr)
            case ast.UnaryExpr():
                self._write("-")
                return self.visit(node.expr)
            case ast.AggregateExpr():
                return self._aggregation(node)
            case ast.BinaryExpr():
                return self._binary(node)
            case ast.Call():
                return self._call(node)
            case ast.StringLiteral():
                self._write(quoted(node.val))
                return Constant(scalar=False)
            case _:
                self._write(repr(node.val).removesuffix(".0"))
                return Constant(scalar=True)

    def _write(self, text: str) -> int:
        """Write a part. Returns its index."""
        self._parts.append(text)
        return len(self._parts) - 1

    def _enclosed(self, opening: str, node: Any) -> Found:
        self._write(opening)
        found = self.visit(node)
        self._write(")")
        return found

    def _selector(self, node: Any, span: str) -> Found:
        if node.matchers.or_matchers:
            raise Unproven("`or` between matchers is not PromQL's")
        labels, matchers = [], node.matchers.matchers
        for at, each in enumerate(matchers):
            self._write("," if at else f"{node.name or ''}{{")
            if each.op == ast.MatchOp.Equal:
                if len(self.equalities) in self.varying:
                    labels.append(each.name)
                self.equalities.append((each.name, each.value))
                self._parts.append(None)
            else:
                self._write(str(matcher_of(each)))
        self._write(f"{'}' if matchers else node.name}{span}{_time(node)}")
        if _NAME in labels:
            raise Unproven("they differ in the name of the metric")
        return Varying(dict.fromkeys(labels, True)) if labels else Constant(scalar=False)

    def _aggregation(self, node: Any) -> Found:
        operation, modifier = str(node.op), node.modifier
        is_by = modifier is None or modifier.type == ast.AggModifierType.By  # without a list, it keeps none
        listed = tuple(modifier.labels) if modifier else ()
        self._write(operation)
        place = self._write(f"{_list('by' if is_by else 'without', listed)} " if modifier else "")
        if node.param is None:
            inner = self._enclosed("(", node.expr)
        else:
            self._write("(")
            self.visit(node.param)  # a number or a string, in which nothing varies, because scalar() is not merged
            inner = self._enclosed(", ", node.expr)
        if isinstance(inner, Constant):
            return inner
        if operation not in functions.AGGREGATIONS:
            raise Unproven(f"{operation}() is not one of the aggregations that can be merged")
        _refuse_fallback(inner, f"{operation}()")
        if is_by:
            kept = (*listed, *(label for label in inner.kept if label not in listed))
            self.changed[place] = f"{_list('by', kept)} "
            return Varying({label: label in listed and was for label, was in inner.kept.items()})
        self.changed[place] = f"{_list('without', (label for label in listed if label not in inner.kept))} "
        return Varying({label: label not in listed and was for label, was in inner.kept.items()})

    def _call(self, node: Any) -> Found:
        name, args = node.func.name, []
        self._write(f"{name}(")
        for at, each in enumerate(node.args):
            self._write(", " if at else "")
            args.append(self.visit(each))
        self._write(")")
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
        left, modifier = self.visit(node.lhs), node.modifier
        fill = modifier and modifier.fill_values
        if fill and (fill.lhs is not None or fill.rhs is not None):
            raise Unproven("fill modifiers are not known here")
        self._write(f" {node.op}{' bool' if modifier and modifier.return_bool else ''}")
        matching = modifier and modifier.matching
        word = "on" if matching and matching.type == ast.LabelModifierType.Include else "ignoring"
        place = self._write(_list(word, matching.labels) if matching else "")
        if modifier and modifier.card in (ast.VectorMatchCardinality.ManyToOne, ast.VectorMatchCardinality.OneToMany):
            side = "left" if modifier.card == ast.VectorMatchCardinality.ManyToOne else "right"
            self._write(_list(f"group_{side}", modifier.group_labels or ()))
        self._write(" ")
        right = self.visit(node.rhs)
        result, labels = matched(node, left, right)
        if matching and labels is not None:
            self.changed[place] = _list(word, labels)
        return result


def _list(word: str, labels: Iterable[str]) -> str:
    return f" {word} ({', '.join(map(label_text, labels))})"


def _duration(span: Any) -> str:
    return f"{'-' if span < timedelta(0) else ''}{ast.display_duration(abs(span))}"


def _time(node: Any) -> str:
    """Return `@` and `offset`."""
    at = "" if node.at is None else f" {node.at}".removesuffix(".000")
    return at if node.offset is None else f"{at} offset {_duration(node.offset)}"


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
