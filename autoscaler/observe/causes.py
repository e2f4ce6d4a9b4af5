"""Why a query has no sample, found out by asking Prometheus more: for a person who asks, and never in a cycle.

Source: prometheus.io/docs/prometheus/latest/querying/api, "Querying label values" and "Targets". A server that has not
got the one or the other (not every one that speaks PromQL has) leaves that much unknown, and nothing more.
"""

import difflib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeVar
from urllib.parse import quote

import msgspec

from autoscaler.clock import Clock
from autoscaler.errors import MetricError, QuantityError
from autoscaler.model import Query
from autoscaler.observe.prometheus import Prometheus
from autoscaler.observe.selectors import NAME, Matcher, Selector, selectors, written
from autoscaler.quantity import format_duration, parse_duration
from autoscaler.text import plain

MOST_REQUESTS: Final = 200
"""Of all queries together."""
_MOST_SELECTORS: Final = 4
_MOST_NAMED: Final = 5
_LONGEST_SHOWN: Final = 100
"""Bytes of a name or a label's value."""
_MOST_COMPARED: Final = 2000
_SIMILAR: Final = 0.8
_NEEDS_TWO: Final = frozenset(
    ("rate", "irate", "increase", "delta", "idelta", "deriv", "predict_linear", "double_exponential_smoothing")
)
"""Functions of a range that make nothing of one sample."""
_T = TypeVar("_T")


class Cause(NamedTuple):
    """Why a query has no sample."""

    text: str
    may_be_zero: bool = False
    """Nothing is known to be wrong: that there is no sample may well mean zero."""


class _Values(msgspec.Struct):
    data: list[str]


class _Target(msgspec.Struct, rename="camel"):
    labels: dict[str, str]
    health: str = ""
    last_error: str = ""
    scrape_url: str = ""
    scrape_interval: str = ""


class _Active(msgspec.Struct, rename="camel"):
    active_targets: list[_Target]


class _Targets(msgspec.Struct):
    data: _Active


class Causes:
    """Of queries that were answered without a sample. One thread's; what many ask is asked once."""

    def __init__(self, sources: Mapping[str, Prometheus], now: datetime, deadline: float, clock: Clock) -> None:
        """`deadline`: in seconds on the monotonic clock; nothing is asked or looked through after it."""
        self._sources, self._now, self._deadline, self._clock = sources, now, deadline, clock
        self._requests = 0
        self._known: dict[object, object] = {}
        """What was asked -> what came, or the MetricError that came instead."""
        self._label_values: dict[tuple[str, str, str], Sequence[str]] = {}

    def of(self, query: Query) -> Cause | None:
        """The first thing found that keeps `query` without a sample; None: nothing is known."""
        if query.prometheus not in self._sources or self._clock.monotonic() > self._deadline:
            return None
        found = selectors(query.expr)[:_MOST_SELECTORS]
        if not found:
            return None
        source = _Source(self, query.prometheus)
        try:
            for selector in found:
                if (cause := source.cause(selector)) is not None:
                    return cause
            if query.match and (cause := source.unmatched(query)) is not None:
                return cause
        except MetricError:  # it was answered a moment ago; now it is not, or there was enough asked
            return None
        return Cause("its selectors have series, and the expression leaves none of them", may_be_zero=True)

    def samples(self, source: str, expr: str) -> Sequence[tuple[Mapping[str, str], float]]:
        """The answer's samples. Raises MetricError."""

        def ask() -> Sequence[tuple[Mapping[str, str], float]]:
            points = self._sources[source].query(expr, self._now, self._deadline).points
            return [(point.labels, point.value or 0) for point in points]

        return self._once((source, expr), ask)

    def label_values(self, source: str, expr: str, label: str) -> Sequence[str]:
        """The values that a label has in the answer to a query, sorted. Raises MetricError."""
        key = source, expr, label
        if key not in self._label_values:  # thousands may share one query, of very many samples
            found = {labels.get(label, "") for labels, _ in self.samples(source, expr)}
            self._label_values[key] = sorted(found - {""})
        return self._label_values[key]

    def values(self, source: str, label: str, series: str | None = None) -> Sequence[str]:
        """A label's values, of all or of these series. Raises MetricError."""
        form = {} if series is None else {"match[]": series}
        return self._once(
            (source, label, series),
            lambda: (
                self._sources[source].get(f"label/{quote(label, safe='')}/values", form, _Values, self._deadline).data
            ),
        )

    def targets(self, source: str) -> Sequence[_Target] | None:
        """What is scraped; None: the server does not say."""
        try:
            return self._once(
                (source, "targets"),
                lambda: (
                    self._sources[source]
                    .get("targets", {"state": "active"}, _Targets, self._deadline)
                    .data.active_targets
                ),
            )
        except MetricError:
            return None

    def _once(self, question: object, ask: Callable[[], _T]) -> _T:
        if question not in self._known:
            self._requests += 1
            if self._requests > MOST_REQUESTS:
                raise MetricError("enough was asked")
            try:
                self._known[question] = ask()
            except MetricError as error:
                self._known[question] = error
        known = self._known[question]
        if isinstance(known, MetricError):
            raise MetricError(str(known))
        return known  # type: ignore[return-value]  # the same question has an answer of the same type


class _Source:
    """What one Prometheus says of a selector."""

    def __init__(self, causes: Causes, name: str) -> None:
        self._causes, self._name = causes, name

    def cause(self, selector: Selector) -> Cause | None:
        """Why nothing comes of it; None: something does."""
        if self._count(selector.matchers):
            return self._short(selector)
        name = selector.name
        if name is None:
            return Cause(f"no series {plain(str(selector), _LONGEST_SHOWN)}{self._scraped(selector)}", may_be_zero=True)
        if not self._count([Matcher(NAME, "=", name)]):
            return self._absent(name, selector)
        for matcher in selector.labels:
            if not self._count([Matcher(NAME, "=", name), matcher]):
                return self._without(name, matcher)
        shown = plain(written(selector.labels), _LONGEST_SHOWN)
        return Cause(f"series {_shown(name)} have each of {shown}, and none has all at once", may_be_zero=True)

    def unmatched(self, query: Query) -> Cause | None:
        """Which values the labels of a `match` have in the query's answer."""
        if not self._causes.samples(self._name, query.expr):
            return None
        for label, wanted in query.match:
            values = self._causes.label_values(self._name, query.expr, label)
            if wanted not in values:
                return _other_values("no sample of the shared query", label, wanted, values)
        return None

    def _count(self, matchers: Sequence[Matcher]) -> bool:
        return bool(self._causes.samples(self._name, f"count({written(matchers)})"))

    def _absent(self, name: str, selector: Selector) -> Cause:
        """No series of this name has a sample now."""
        try:
            names = self._causes.values(self._name, NAME)
        except MetricError:
            names = ()
        if name in names:
            return Cause(f"series {_shown(name)} have no sample of the last minutes{self._scraped(selector)}")
        near = _nearest(name, names)
        if near is not None:
            return Cause(f"no series {_shown(name)}; did you mean {_shown(near)}?")
        return Cause(f"no series {_shown(name)}{self._scraped(selector)}")

    def _without(self, name: str, matcher: Matcher) -> Cause:
        """No series of this name fulfils a condition."""
        series = f"no series {_shown(name)}"
        if matcher.operator != "=":
            return Cause(f"{series} has {plain(str(matcher), _LONGEST_SHOWN)}", may_be_zero=True)
        try:
            values = self._causes.values(self._name, matcher.label, written([Matcher(NAME, "=", name)]))
        except MetricError:  # the server does not say
            return Cause(f"{series} has {plain(str(matcher), _LONGEST_SHOWN)}", may_be_zero=True)
        return _other_values(series, matcher.label, matcher.value, values)

    def _short(self, selector: Selector) -> Cause | None:
        """A range with less than the two samples that its function needs."""
        span, function = selector.range, selector.function
        if span is None or function not in _NEEDS_TWO:
            return None
        counted = self._causes.samples(self._name, f"max(count_over_time({selector}[{format_duration(span)}]))")
        if counted and counted[0][1] > 1:
            return None
        written_span = f"[{format_duration(span)}]"
        intervals = [interval for each in self._targets(selector) or () if (interval := _interval(each)) is not None]
        interval = max(intervals, default=None)
        needs = f"{function}() needs two samples within its range {written_span}"
        if interval is not None and span < 2 * interval:
            return Cause(
                f"{needs}, which is shorter than two scrape intervals of {format_duration(interval)}; write at least "
                f"[{format_duration(4 * interval)}], four of them"
            )
        held = "one" if counted else "none"
        return Cause(
            f"{needs}, and its series have {held} there as yet; if they are new, wait for the next scrape, else write "
            "a range of four scrape intervals"
        )

    def _targets(self, selector: Selector) -> Sequence[_Target] | None:
        """Those that the selector's job and instance name; None: the server does not say."""
        wanted = {each.label: each.value for each in selector.labels if each.operator == "="}
        chosen = {label: wanted[label] for label in ("job", "instance") if label in wanted}
        targets = self._causes.targets(self._name)
        return None if targets is None else [each for each in targets if chosen.items() <= each.labels.items()]

    def _scraped(self, selector: Selector) -> str:
        """What is known of the targets that would have the series."""
        every, targets = self._causes.targets(self._name), self._targets(selector)
        if every is None or targets is None:
            return ""
        if not every:
            return "; Prometheus scrapes no target: correct its scrape_configs, or the file that its targets stand in"
        if not targets:
            jobs = sorted({each.labels.get("job", "") for each in every})
            return f"; Prometheus scrapes no target of that job or instance; its jobs: {_some(jobs)}"
        up = sum(each.health == "up" for each in targets)
        text = f"; of the targets that may have it {up} of {len(targets)} are up"
        down = next((each for each in targets if each.health != "up" and each.last_error), None)
        if up or down is None:
            return text
        url, why = plain(down.scrape_url, _LONGEST_SHOWN), plain(down.last_error, 2 * _LONGEST_SHOWN)
        return f"{text}: {url}: {why}"


def _interval(target: _Target) -> timedelta | None:
    try:
        return parse_duration(target.scrape_interval)
    except QuantityError:  # older servers do not say
        return None


def _other_values(what: str, label: str, wanted: str, values: Sequence[str]) -> Cause:
    """A label has not the value that is wanted, but these."""
    said = f'{what} has {label}="{_shown(wanted)}"'
    if not values:
        return Cause(f"{said}, nor the label {label} at all", may_be_zero=True)
    near = difflib.get_close_matches(wanted[:200], values[:_MOST_COMPARED], n=1)
    if near:
        return Cause(f'{said}; did you mean "{_shown(near[0])}"?')
    return Cause(f"{said}; its values: {_some(values)}", may_be_zero=True)


def _nearest(name: str, names: Sequence[str]) -> str | None:
    """The most similar of very many, without looking long."""
    similar = [
        each
        for each in names
        if abs(len(each) - len(name)) <= max(3, len(name) // 4) and (each[:2] == name[:2] or each[-2:] == name[-2:])
    ]
    found = difflib.get_close_matches(name[:200], similar[:_MOST_COMPARED], n=1, cutoff=_SIMILAR)
    return found[0] if found else None


def _shown(text: str) -> str:
    return plain(text, _LONGEST_SHOWN)


def _some(values: Sequence[str]) -> str:
    more = f" and {len(values) - _MOST_NAMED} more" if len(values) > _MOST_NAMED else ""
    return ", ".join(map(_shown, values[:_MOST_NAMED])) + more
