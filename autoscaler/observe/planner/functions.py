"""What PromQL's functions and aggregations do with labels.

Source: prometheus.io/docs/prometheus/latest/querying/functions and operators. Functions missing here are never merged:
`absent` takes its labels from the matchers, `scalar` and `sort` use all samples at once, `info` reads other series, and
`count_values` sets a label.
"""

from typing import Final

# fmt: off
OF_A_RANGE: Final = frozenset({
    "avg_over_time", "changes", "count_over_time", "delta", "deriv", "double_exponential_smoothing", "holt_winters",
    "idelta", "increase", "irate", "last_over_time", "max_over_time", "min_over_time", "predict_linear",
    "present_over_time", "quantile_over_time", "rate", "resets", "stddev_over_time", "stdvar_over_time",
    "sum_over_time",
})
"""One sample for each series of their range. Further arguments are numbers."""

OF_EACH_SAMPLE: Final = frozenset({
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "clamp", "clamp_max", "clamp_min", "cos", "cosh",
    "day_of_month", "day_of_week", "day_of_year", "days_in_month", "deg", "exp", "floor", "histogram_avg",
    "histogram_count", "histogram_stddev", "histogram_stdvar", "histogram_sum", "hour", "ln", "log10", "log2", "minute",
    "month", "rad", "round", "sgn", "sin", "sinh", "sqrt", "tan", "tanh", "timestamp", "year",
})
"""At most one sample for each sample, with its other labels. Further arguments are numbers."""

OF_LABELS: Final = frozenset({"label_replace", "label_join"})
"""Each sample with one label set from others. Arguments: the vector, then strings, the first the label's name."""

AGGREGATIONS: Final = frozenset({"sum", "avg", "min", "max", "count", "group", "stddev", "stdvar", "quantile"})
"""One sample for each group.

Aggregations that keep or set other labels (topk, bottomk, count_values, limitk) are excluded.
"""
# fmt: on
