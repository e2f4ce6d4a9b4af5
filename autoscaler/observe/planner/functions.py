"""What PromQL's functions and aggregations do with labels.

Source: prometheus.io/docs/prometheus/latest/querying/functions and operators. A function that is not here is never
merged: `absent` makes its labels of the matchers, `scalar` and `sort` look at all samples at once, `info` reads other
series, `count_values` sets a label.
"""

from typing import Final

# fmt: off
OF_A_RANGE: Final = frozenset({
    "avg_over_time", "changes", "count_over_time", "delta", "deriv", "double_exponential_smoothing", "holt_winters",
    "idelta", "increase", "irate", "last_over_time", "max_over_time", "min_over_time", "predict_linear",
    "present_over_time", "quantile_over_time", "rate", "resets", "stddev_over_time", "stdvar_over_time",
    "sum_over_time",
})
"""One sample for each series of their range; further arguments are numbers."""

OF_EACH_SAMPLE: Final = frozenset({
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "clamp", "clamp_max", "clamp_min", "cos", "cosh",
    "day_of_month", "day_of_week", "day_of_year", "days_in_month", "deg", "exp", "floor", "histogram_avg",
    "histogram_count", "histogram_stddev", "histogram_stdvar", "histogram_sum", "hour", "ln", "log10", "log2", "minute",
    "month", "rad", "round", "sgn", "sin", "sinh", "sqrt", "tan", "tanh", "timestamp", "year",
})
"""At most one sample for each sample, whose other labels they keep; further arguments are numbers."""

OF_BUCKETS: Final = frozenset({"histogram_quantile", "histogram_fraction"})
"""One sample for all samples whose labels are equal apart from `le`."""

OF_LABELS: Final = frozenset({"label_replace", "label_join"})
"""Each sample with one label set, made of others. Arguments: the vector, then strings, the first the label's name."""

AGGREGATIONS: Final = frozenset({"sum", "avg", "min", "max", "count", "group", "stddev", "stdvar", "quantile"})
"""One sample for each group. What keeps or makes other labels (topk, bottomk, count_values, limitk) is not here."""
# fmt: on
