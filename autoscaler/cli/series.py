"""PromQL for a metric and a selector of Kubernetes: `queue{zone=~"a|b"}`.

Source: prometheus.io/docs/prometheus/latest/querying/basics, "Time series selectors"; Kubernetes' labels and selectors.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

from autoscaler.cli.hpa import Identifier, Selector
from autoscaler.observe.planner.rewrite import alternation

_METRIC: Final = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*")
"""What Prometheus 2 takes as it is; Prometheus 3 takes others in quotes."""
_LABEL: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED: Final = frozenset({"atan2", "bool", "group_left", "group_right", "ignoring", "inf", "nan", "on"})
"""Words of PromQL, in any case, that are never read as a metric's name."""


def quoted(text: str) -> str:
    """As a string of PromQL, which escapes as Go does: it knows no halves of a character beyond 16 bits."""
    return json.dumps(text, ensure_ascii=False)


def series(metric: Identifier) -> str:
    """A selector of Prometheus that says what Kubernetes' own does.

    Names with other characters than Prometheus 2 has (`queue.length`, `shop/zone`) are written as Prometheus 3 does.
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
        yield f"{_label(key)}={quoted(value)}"
    for each in selector.match_expressions:
        label = _label(each.key)
        match each.operator:
            case "In":
                yield f"{label}=~{quoted(alternation(each.values))}"
            case "NotIn":
                yield f"{label}!~{quoted(alternation(each.values))}"
            case "Exists":
                yield f'{label}!=""'
            case "DoesNotExist":
                yield f'{label}=""'


def _label(key: str) -> str:
    return key if _LABEL.fullmatch(key) else quoted(key)
