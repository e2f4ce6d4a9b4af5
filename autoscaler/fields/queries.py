"""Shared queries, and the queries of metrics."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any, Final, Self, TypeAlias

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from autoscaler import model
from autoscaler.fields.kept_labels import instance_labels, names_no_instance
from autoscaler.fields.promql import Expression
from autoscaler.fields.types import Expr, LabelName, PositiveDuration, QueryName, Section, SourceName, scope_of

DEFAULT_SOURCE: Final = "default"


def _age_is_known(value: timedelta, info: ValidationInfo) -> timedelta:
    expr = info.data.get("expr") or _shared_expression(info.data.get("ref"), info)
    if isinstance(expr, Expression) and not expr.plain and expr.unknown is None:
        raise ValueError(
            "maxAge needs a plain selector, because Prometheus tells the age of no other samples; "
            "remove it, or query the series of a recording rule"
        )
    return value


def _shared_expression(ref: str | None, info: ValidationInfo) -> Expression | None:
    """Return the expression of the shared query `ref`; None if it is wrong, which is reported elsewhere."""
    shared: Any = scope_of(info)["queries"].get(ref or "")
    try:
        return scope_of(info)["expressions"].parse(shared["expr"])
    except (KeyError, TypeError, ValueError):
        return None


MaxAge: TypeAlias = Annotated[PositiveDuration, AfterValidator(_age_is_known)]


class Reading(Section):
    """The keys that shared queries and the queries of metrics have in common."""

    expr: Expr | None = None
    """PromQL that gives a vector or a scalar."""
    prometheus: SourceName | None = Field(default=None, validate_default=True)
    """The name of the source in `prometheus`. Default: `default`."""
    instance_label: LabelName | None = None
    """The label that names the instance.

    Default: the first of alloc_id, task_id, container_id, instance_id and instance that a sample has.
    """
    window: PositiveDuration | None = None
    """The time that a sample averages over. Default: the longest range in the expression, else 60s."""

    @field_validator("prometheus")
    @classmethod
    def _default_exists(cls, name: str | None, info: ValidationInfo) -> str | None:
        sources = scope_of(info)["prometheus"]
        if name is None and info.data.get("expr") is not None and DEFAULT_SOURCE not in sources:
            raise ValueError(f"is missing, and `prometheus` has no source {DEFAULT_SOURCE!r}; name one of its sources")
        return name


class SharedQuery(Reading):
    """A query that runs once in a cycle for all metrics that refer to it."""

    expr: Expr
    """PromQL that gives a vector or a scalar."""
    max_age: MaxAge | None = None
    """The oldest sample that is used; only on a plain selector. Default: what Prometheus returns."""


class Query(Reading):
    """An expression (`expr`), or a shared query (`ref`) whose other keys can be overridden."""

    ref: QueryName | None = None
    """The name of a query in `queries`."""
    match: Mapping[LabelName, str] = Field(default_factory=dict)
    """Only with `ref`: labels that a sample must have to be used."""
    max_age: MaxAge | None = None
    """The oldest sample that is used; only on a plain selector. Default: what Prometheus returns."""

    @field_validator("ref")
    @classmethod
    def _not_both(cls, ref: str | None, info: ValidationInfo) -> str | None:
        if ref is not None and info.data.get("expr") is not None:
            raise ValueError("ref and expr are both given; remove one of them")
        return ref

    @field_validator("match")
    @classmethod
    def _of_a_shared_one(cls, match: Mapping[str, str], info: ValidationInfo) -> Mapping[str, str]:
        if match and info.data.get("expr") is not None:
            raise ValueError("match is only for a ref; write the labels into the expression")
        return match

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if self.expr is None and self.ref is None:
            raise ValueError("neither expr nor ref is given; add one of them")
        return self

    def spec(self, shared: Mapping[str, SharedQuery]) -> model.Query:
        """Return the frozen query: its own keys override those of the shared query."""
        base = self if self.ref is None else shared[self.ref]
        expr = base.expr
        if expr is None:
            raise AssertionError("a validated query has expr or ref")
        return model.Query(
            expr=expr.text,
            prometheus=self.prometheus or base.prometheus or DEFAULT_SOURCE,
            match=tuple(sorted(self.match.items())),
            instance_label=self.instance_label or base.instance_label,
            window=self.window or base.window or expr.window,
            max_age=self.max_age or base.max_age,
        )


class InstanceQuery(Query):
    """A query whose samples belong to instances."""

    @field_validator("expr", "ref")
    @classmethod
    def _has_labels(cls, value: Expression | str | None, info: ValidationInfo) -> Expression | str | None:
        expr = _shared_expression(value, info) if isinstance(value, str) else value
        if expr is not None and expr.scalar:
            raise ValueError(
                "the expression is a scalar, one number without labels, and each instance needs a sample; "
                "write one that keeps the instance's label, or use a metric of type External"
            )
        return value

    def names_no_instance(self, shared: Mapping[str, SharedQuery]) -> str | None:
        """Return why no sample of it can belong to an instance, and the remedy; None: some may."""
        base = self if self.ref is None else shared.get(self.ref)
        if base is None:  # that query is wrong
            return None
        expr, label = base.expr, self.instance_label or base.instance_label
        if expr is None or expr.labels is None or not expr.labels.isdisjoint(instance_labels(label)):
            return None
        return names_no_instance(label)


class TotalQuery(Query):
    """A query whose samples belong to no instance."""

    @field_validator("instance_label")
    @classmethod
    def _of_no_instance(cls, label: str | None) -> str | None:
        if label is not None:
            raise ValueError("is not used here, because the samples belong to no instance; remove it")
        return label
