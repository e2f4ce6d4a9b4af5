"""Random PromQL over the series of `fleet.py`, written for one autoscaler, with placeholders for its values."""

from typing import Final

from hypothesis import strategies as st

from autoscaler.observe.planner.functions import AGGREGATIONS, OF_A_RANGE, OF_EACH_SAMPLE

ASG: Final = "<asg>"
ENV: Final = "<env>"

_SMOOTHING: Final = ("double_exponential_smoothing", "holt_winters")
_OF_HISTOGRAMS: Final = ("histogram_avg", "histogram_stddev", "histogram_stdvar")
"""Not in Prometheus 2.42."""
_LABELS: Final = ("asg", "env", "instance", "code", "le")
_lists = st.lists(st.sampled_from(_LABELS), max_size=3, unique=True).map(", ".join)
_own = st.sampled_from(
    [
        f"asg={ASG}",
        f"asg = {ASG}",
        f'env="prod",asg={ASG}',
        f"env={ENV},asg={ASG}",
        f'asg={ASG},code!="500"',
        f'asg={ASG},code=~"2.."',
        f'asg={ASG},asg!="web"',
        f'asg={ASG},instance=""',
        f"asg={ASG},asg={ASG}",
        f'asg={ASG} # one\'s own, asg="web"\n',
    ]
)
_shared = st.sampled_from(['code="200"', 'asg="web"', 'env="prod",code="200"', 'asg=~".+"'])
_names = st.sampled_from(["req", "cap", "lat_bucket", '{__name__=~"req|cap"}', "none"])
_when = st.sampled_from(["", "", "", " offset 1m", " @ end()", " offset -30s"])
_ranges = st.sampled_from(["[2m]", "[5m]", "[90s]"])
_numbers = st.sampled_from(["2", "0.1", "-3", "(1 + 2)", "Inf", "time()", "scalar(count(req))", "0"])
_arithmetic = st.sampled_from(["+", "-", "*", "/", "%", "^", "atan2"])
_comparison = st.sampled_from([">", "<", ">=", "<=", "==", "!=", "> bool", "== bool"])
_of_range = st.sampled_from(sorted(OF_A_RANGE - {"quantile_over_time", "predict_linear", *_SMOOTHING}))
_of_sample = st.sampled_from(sorted(OF_EACH_SAMPLE - {"clamp", "clamp_min", "clamp_max", *_OF_HISTOGRAMS}))
_aggregations = st.sampled_from(["SUM", *sorted(AGGREGATIONS - {"quantile"})])
_never = st.sampled_from(
    ["absent({})", "topk(2, {})", "sort({})", 'count_values("v", {})', "vector(scalar({}))", "bottomk by (asg) (1, {})"]
)


def _selector(name: str, matchers: str) -> str:
    return f"{name[:-1]},{matchers}}}" if name.endswith("}") else f"{name}{{{matchers}}}"


_selectors = st.builds(_selector, _names, st.one_of(_own, _own, _own, _own, _shared))
_plain = st.builds("{}{}".format, _selectors, _when)
_ranged = st.one_of(
    st.builds("{}({}{}{})".format, _of_range, _selectors, _ranges, _when),
    st.builds("quantile_over_time(0.7, {}{})".format, _selectors, _ranges),
    st.builds("predict_linear({}{}, 60)".format, _selectors, _ranges),
)


def _sides(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operator = st.one_of(_arithmetic, _comparison, st.sampled_from(["and", "or", "unless"]))
    how = st.one_of(
        st.just(""),
        st.builds("on ({})".format, _lists),
        st.builds("ignoring({})".format, _lists),
        st.builds(
            "on({}) {}({})".format,
            _lists,
            st.sampled_from(["group_left", "group_right"]),
            st.sampled_from(["", "code", "asg"]),
        ),
        st.builds("ignoring({}) {}".format, _lists, st.sampled_from(["group_left", "group_right"])),
    )
    return st.builds("({} {} {} {})".format, inner, operator, how, inner)


def _same_twice(text: str, operator: str) -> str:
    return f"({text} {operator} {text.replace('req', 'cap')})"


def _deeper(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("{}({})".format, _aggregations, inner),
        st.builds("{} by ({}) ({})".format, _aggregations, _lists, inner),
        st.builds("{}({}) BY ({})".format, _aggregations, inner, _lists),
        st.builds("{} without ({}) ({})".format, _aggregations, _lists, inner),
        st.builds("quantile(0.9, {}) by ({})".format, inner, _lists),
        st.builds("{}({})".format, _of_sample, inner),
        st.builds("clamp({}, 0.5, 3)".format, inner),
        st.builds("(-{})".format, inner),
        st.builds("({} {} {})".format, inner, st.one_of(_arithmetic, _comparison), _numbers),
        st.builds("({} {} {})".format, _numbers, st.one_of(_arithmetic, _comparison), inner),
        _sides(inner),
        st.builds(_same_twice, inner, _arithmetic),
        st.builds("{}({}[3m:30s]{})".format, _of_range, inner, _when),
        st.builds("histogram_quantile(0.8, {})".format, inner),
        st.builds(
            "histogram_quantile(0.8, sum by (le, {}) ({}))".format, st.sampled_from(["asg", "env", "code"]), inner
        ),
        st.builds("({} or vector(0))".format, inner),
        st.builds(
            "(sum({}) or {}vector(7))".format, inner, st.sampled_from(["", "on() ", "on(asg) ", "ignoring(asg) "])
        ),
        st.builds(
            'label_replace({}, "{}", "$1-x", "{}", "(.*)")'.format,
            inner,
            st.sampled_from(["code", "new", "asg"]),
            st.sampled_from(["instance", "asg"]),
        ),
        st.builds('label_join({}, "both", "-", "env", "{}")'.format, inner, st.sampled_from(["code", "asg"])),
        st.builds(lambda how, text: how.format(text), _never, inner),
    )


expressions = st.recursive(st.one_of(_plain, _ranged, _ranged), _deeper, max_leaves=4)
