"""The words of PromQL that stand before a bracket, and which of them a misspelt one is near to.

Source: prometheus.io/docs/prometheus/latest/querying/functions and operators, of Prometheus 3;
docs.victoriametrics.com, MetricsQL.
"""

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Final

AGGREGATIONS: Final = frozenset(
    {
        *("avg", "bottomk", "count", "count_values", "group", "limit_ratio", "limitk", "max", "min", "quantile"),
        *("stddev", "stdvar", "sum", "topk"),
    }
)
FUNCTIONS: Final = frozenset(
    {
        *("abs", "absent", "absent_over_time", "acos", "acosh", "asin", "asinh", "atan", "atanh", "avg_over_time"),
        *("ceil", "changes", "clamp", "clamp_max", "clamp_min", "cos", "cosh", "count_over_time", "day_of_month"),
        *("day_of_week", "day_of_year", "days_in_month", "deg", "delta", "deriv", "double_exponential_smoothing"),
        *("end", "exp", "first_over_time", "floor", "histogram_avg", "histogram_count", "histogram_fraction"),
        *("histogram_quantile", "histogram_quantiles", "histogram_stddev", "histogram_stdvar", "histogram_sum"),
        *("holt_winters", "hour", "idelta", "increase", "info", "irate", "label_join", "label_replace"),
        *("last_over_time", "ln", "log10", "log2", "mad_over_time", "max_over_time", "min_over_time", "minute"),
        *("month", "pi", "predict_linear", "present_over_time", "quantile_over_time", "rad", "range", "rate"),
        *("resets", "round", "scalar", "sgn", "sin", "sinh", "sort", "sort_by_label", "sort_by_label_desc"),
        *("sort_desc", "sqrt", "start", "stddev_over_time", "stdvar_over_time", "step", "sum_over_time", "tan"),
        *("tanh", "time", "timestamp", "ts_of_first_over_time", "ts_of_last_over_time", "ts_of_max_over_time"),
        *("ts_of_min_over_time", "vector", "year"),
    }
)
OTHERS: Final = frozenset(
    {
        *("and", "atan2", "bool", "by", "fill", "fill_left", "fill_right", "group_left", "group_right", "ignoring"),
        *("max_of", "min_of", "offset", "on", "or", "unless", "without"),
        # of VictoriaMetrics, each a letter away from one of Prometheus
        *("ideriv", "quantiles", "quantiles_over_time", "rand", "sum2", "sum2_over_time", "tmax_over_time"),
        *("tmin_over_time", "tfirst_over_time", "tlast_over_time", "mad"),
    }
)
"""What also stands before a bracket, and is no misspelt function."""
_NAMED: Final = FUNCTIONS | AGGREGATIONS
_KNOWN: Final = _NAMED | OTHERS
_LONGEST: Final = max(map(len, _KNOWN)) + 1


def near_function(word: str) -> str | None:
    """The function or aggregation that a word is a near miss of: one letter, two neighbours, case, or underscores away.

    None for a word that has a meaning here or elsewhere, and for one that is like none of them.
    """
    if word in _KNOWN or word.lower() in OTHERS or word.lower() in AGGREGATIONS or len(word) > 2 * _LONGEST:
        return None
    if _plain(word) in _BY_PLAIN:
        return _BY_PLAIN[_plain(word)]
    if len(word) > _LONGEST:
        return None
    lower = word.lower()
    likely = {name for part in _shortened(lower) for name in _BY_SHORTENED.get(part, ())}
    near = sorted(name for name in likely if _is_one_away(lower, name))
    return max(near, key=lambda name: SequenceMatcher(None, lower, name).ratio(), default=None)


def _plain(word: str) -> str:
    return word.lower().replace("_", "")


_BY_PLAIN: Final = {_plain(name): name for name in _NAMED}


def _shortened(word: str) -> Iterator[str]:
    """The word, and the word without each of its letters: two that are one letter apart have one of these in common."""
    yield word
    for at in range(len(word)):
        yield word[:at] + word[at + 1 :]


_BY_SHORTENED: Final[dict[str, set[str]]] = {}
"""Looked up, as ten thousand misspelt words would each be compared with all names."""
for _name in _NAMED:
    for _part in _shortened(_name):
        _BY_SHORTENED.setdefault(_part, set()).add(_name)


def _is_one_away(word: str, name: str) -> bool:
    """Whether a letter that is added, left out, or another, or two that are swapped make the one of the other."""
    if abs(len(word) - len(name)) > 1:
        return False
    start = next((at for at, (one, other) in enumerate(zip(word, name, strict=False)) if one != other), None)
    if start is None:
        return len(word) != len(name)
    return any(one == other for one, other in _rests(word[start:], name[start:]))


def _rests(word: str, name: str) -> Iterator[tuple[str, str]]:
    """What must be equal, for each way in which the first letter may differ."""
    yield word[1:], name
    yield word, name[1:]
    yield word[1:], name[1:]
    if word[:2] == name[1::-1]:
        yield word[2:], name[2:]
