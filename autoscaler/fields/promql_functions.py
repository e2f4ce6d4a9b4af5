"""The functions and aggregations of PromQL, and suggestions for misspelt ones.

Source: prometheus.io/docs/prometheus/latest/querying/functions and operators, of Prometheus 3;
docs.victoriametrics.com, MetricsQL.
"""

from difflib import get_close_matches
from functools import lru_cache
from itertools import takewhile
from typing import Final

FUNCTIONS: Final = frozenset(
    {
        *("avg", "bottomk", "count", "count_values", "group", "limit_ratio", "limitk", "max", "min", "quantile"),
        *("stddev", "stdvar", "sum", "topk"),
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
"""The functions that promql-parser knows."""
OTHERS: Final = frozenset(
    {
        *("max_of", "min_of", "ideriv", "quantiles", "quantiles_over_time", "rand", "sum2", "sum2_over_time"),
        *("tmax_over_time", "tmin_over_time", "tfirst_over_time", "tlast_over_time", "mad"),
    }
)
"""Functions of newer servers and of VictoriaMetrics that differ from one of these by one letter."""
_PLAIN: Final = {name.replace("_", ""): name for name in sorted(FUNCTIONS)}
_MAX_LENGTH: Final = max(map(len, _PLAIN)) + 1


@lru_cache
def near_function(word: str) -> str | None:
    """Return the function that differs from a word by one letter, case or underscores; None: there is none."""
    plain = word.lower().replace("_", "")
    if word in FUNCTIONS | OTHERS or len(plain) > _MAX_LENGTH:
        return None
    near = [name for name in _PLAIN if abs(len(name) - len(plain)) <= 1 and _is_one_away(plain, name)]
    return next((_PLAIN[name] for name in get_close_matches(plain, near, n=1, cutoff=0)), None)


def _is_one_away(word: str, name: str) -> bool:
    """Return whether one letter is added, omitted, replaced, or swapped with the next."""
    start = _equal_letters(word, name)
    end = _equal_letters(word[start:][::-1], name[start:][::-1])
    wrong, right = word[start : len(word) - end], name[start : len(name) - end]
    return max(len(wrong), len(right)) <= 1 or (len(wrong) == 2 and wrong == right[::-1])


def _equal_letters(word: str, name: str) -> int:
    """Return the number of equal letters at the start of both."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, name, strict=False)))
