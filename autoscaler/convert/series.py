"""Converts a metric and a selector of Kubernetes to PromQL: `queue{zone=~"a|b"}`.

Source: prometheus.io/docs/prometheus/latest/querying/basics, "Time series selectors"; Kubernetes' labels and selectors.
"""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

from autoscaler.convert.hpa import Identifier, Selector
from autoscaler.fields.kept_labels import label_text, quoted
from autoscaler.observe.planner.rewrite import alternation

_METRIC: Final = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*")
"""Names that Prometheus 2 accepts; Prometheus 3 accepts others in quotes."""
_RESERVED: Final = frozenset({"atan2", "bool", "group_left", "group_right", "ignoring", "inf", "nan", "on"})
"""Words of PromQL, in any case, that are not accepted as a metric's name."""


def plain_number(milli: int) -> str:
    """Return thousandths as a number of PromQL."""
    return f"{Decimal(milli).scaleb(-3).normalize():f}"


def series(metric: Identifier) -> str:
    """Return the selector in PromQL.

    Names that Prometheus 2 does not accept (`queue.length`, `shop/zone`) are written as in Prometheus 3.
    """
    matchers = [] if metric.selector is None else list(_matchers(metric.selector))
    if not _METRIC.fullmatch(metric.name):
        return _braces([quoted(metric.name), *matchers])
    if metric.name.lower() in _RESERVED:
        return _braces([f"__name__={quoted(metric.name)}", *matchers])
    return metric.name + (_braces(matchers) if matchers else "")


def _braces(matchers: Sequence[str]) -> str:
    return f"{{{','.join(matchers)}}}"


def _matchers(selector: Selector) -> Iterator[str]:
    for key, value in selector.match_labels.items():
        yield f"{label_text(key)}={quoted(value)}"
    for each in selector.match_expressions:
        label = label_text(each.key)
        match each.operator:
            case "In":
                yield f"{label}=~{quoted(alternation(each.values))}"
            case "NotIn":
                yield f"{label}!~{quoted(alternation(each.values))}"
            case "Exists":
                yield f'{label}!=""'
            case "DoesNotExist":
                yield f'{label}=""'
