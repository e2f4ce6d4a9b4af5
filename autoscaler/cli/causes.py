"""Finds out why a query has no sample, by further requests to Prometheus.

Source: prometheus.io/docs/prometheus/latest/querying/api, "Querying label values" and "Targets". Not every server that
supports PromQL has these endpoints. Without them, that part of the cause stays unknown.
"""

import difflib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from heapq import nlargest
from os.path import commonprefix
from typing import Final, NamedTuple, TypeVar
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from autoscaler.clock import Clock
from autoscaler.errors import MetricError, QuantityError, bug
from autoscaler.model import Autoscaler, Failure, MetricSpec, Observation, Query, Reading
from autoscaler.observe.failure import Unsampled, no_sample
from autoscaler.observe.prometheus import Prometheus
from autoscaler.observe.selectors import NAME, Matcher, Selector, selectors, written
from autoscaler.quantity import format_duration, parse_duration
from autoscaler.text import listed, plain

_MAX_REQUESTS: Final = 200
_MAX_SELECTORS: Final = 4
_MAX_NAMED: Final = 5
_MAX_SHOWN: Final = 100
"""Longest name or label value shown, in bytes."""
_MAX_COMPARED: Final = 2000
_SIMILAR: Final = 0.8
_NEEDS_TWO: Final = frozenset(
    ("rate", "irate", "increase", "delta", "idelta", "deriv", "predict_linear", "double_exponential_smoothing")
)
"""Functions of a range that need at least two samples."""
_ZERO: Final = "; if that means zero, say so in the expression, as in … or vector(0)"
_T = TypeVar("_T")


def with_causes(scaler: Autoscaler, seen: Observation, causes: "Mapping[str, Causes]") -> Observation:
    """Return the observation, with the causes of queries without a sample, as far as Prometheus shows them.

    `causes`: by the name of the Prometheus.
    """
    pairs = zip(scaler.metrics, seen.readings, strict=True)
    return replace(seen, readings=tuple([_explained(metric, reading, causes) for metric, reading in pairs]))


def _explained(metric: MetricSpec, reading: Reading | Failure, causes: "Mapping[str, Causes]") -> Reading | Failure:
    if not isinstance(reading, Unsampled):
        return reading
    what = no_sample(reading.query)
    try:
        cause = causes[reading.query.prometheus].of(reading.query)
    except Exception as error:  # noqa: BLE001 - an unforeseen answer must not discard the other findings
        return replace(reading, message=f"{what}; the search for the cause failed: {bug(error)}")
    if cause is None:
        return replace(reading, message=f"{what}; query its parts in Prometheus, one by one")
    zero = cause.may_be_zero and not metric.type.per_instance
    message = f"{what}: {cause.text}{_ZERO if zero else ''}"
    return Failure(message) if cause.is_mistake else replace(reading, message=message)


class Cause(NamedTuple):
    """Why a query has no sample."""

    text: str
    may_be_zero: bool = False
    """Whether the missing sample may mean zero, because nothing else is known to be wrong."""
    is_mistake: bool = False
    """Whether the expression has no sample either once the target has started.

    That is not sure of a name like another: the series of a new service often have names like those of others.
    """


class _Target(msgspec.Struct, rename="camel"):
    labels: dict[str, str]
    health: str = ""
    last_error: str = ""
    scrape_url: str = ""
    scrape_interval: str = ""


class _Active(msgspec.Struct, rename="camel"):
    active_targets: list[_Target]


class Causes:
    """Finds causes for queries of one Prometheus without samples. Used by one thread; a request is sent once."""

    def __init__(
        self, source: Prometheus, now: datetime, deadline: float, clock: Clock, most_requests: int = _MAX_REQUESTS
    ) -> None:
        """`deadline` is in seconds on the monotonic clock. No work starts after it.

        `most_requests`: for all queries together.
        """
        self._source, self._now, self._deadline, self._clock = source, now, deadline, clock
        self._requests_left = most_requests
        self._known: dict[object, object] = {}
        """Request -> response, or the Failure."""

    def of(self, query: Query) -> Cause | None:
        """Return the first cause found for `query` having no sample, or None if no cause is known."""
        found = selectors(query.expr)[:_MAX_SELECTORS]
        if not found or self._clock.monotonic() > self._deadline:
            return None
        try:
            for selector in found:
                if (cause := self._cause(selector)) is not None:
                    return cause
            if query.match and (cause := self._unmatched(query)) is not None:
                return cause
        except MetricError:  # the server no longer answers, or the request limit is reached
            return None
        return Cause("its selectors have series, and the expression leaves none of them", may_be_zero=True)

    def _samples(self, expr: str) -> Sequence[tuple[Mapping[str, str], float]]:
        """Return the answer's samples. Raises MetricError."""

        def ask() -> Sequence[tuple[Mapping[str, str], float]]:
            points = self._source.query(expr, self._now, self._deadline).points
            return [(point.labels, point.value or 0) for point in points]

        return self._once(expr, ask)

    def _values(self, label: str, series: str | None = None) -> Sequence[str]:
        """Return a label's values, in all series or in these. Raises MetricError."""
        form = {} if series is None else {"match[]": series}
        path = f"label/{quote(label, safe='')}/values"
        return self._once((label, series), lambda: self._source.get(path, form, list[str], self._deadline))

    def _targets(self) -> Sequence[_Target] | None:
        """Return the scraped targets, or None if the server does not report them."""
        try:
            return self._once(
                _Target,
                lambda: self._source.get("targets", {"state": "active"}, _Active, self._deadline).active_targets,
            )
        except MetricError:
            return None

    def _once(self, question: object, ask: Callable[[], _T]) -> _T:
        if question not in self._known:
            if not self._requests_left:
                raise MetricError("enough was asked")
            self._requests_left -= 1
            try:
                self._known[question] = ask()
            except MetricError as error:
                self._known[question] = Failure(str(error))
        known = self._known[question]
        if isinstance(known, Failure):
            raise MetricError(known)
        return known  # type: ignore[return-value]  # the same question has an answer of the same type

    def _cause(self, selector: Selector) -> Cause | None:
        """Return why a selector returns nothing, or None if it returns something."""
        if self._count(selector.matchers):
            return self._short(selector)
        name = selector.name
        if name is None:
            return Cause(f"no series {plain(str(selector), _MAX_SHOWN)}{self._scraped(selector)}", may_be_zero=True)
        if not self._count([Matcher(NAME, "=", name)]):
            return self._absent(name, selector)
        for matcher in selector.labels:
            if not self._count([Matcher(NAME, "=", name), matcher]):
                return self._without(name, matcher)
        shown = plain(written(selector.labels), _MAX_SHOWN)
        return Cause(f"series {_shortened(name)} have each of {shown}, but none has all of them", may_be_zero=True)

    def _unmatched(self, query: Query) -> Cause | None:
        """Return the cause if a label of `match` has other values in the query's answer."""
        samples = self._samples(query.expr)
        if not samples:
            return None
        for label, wanted in query.match:
            values = sorted({labels.get(label, "") for labels, _ in samples} - {""})
            if wanted not in values:
                return _other_values("no sample of the shared query", label, wanted, values)
        return None

    def _count(self, matchers: Sequence[Matcher]) -> bool:
        return bool(self._samples(f"count({written(matchers)})"))

    def _absent(self, name: str, selector: Selector) -> Cause:
        """Explain that no series of this name has a current sample."""
        try:
            names = self._values(NAME)
        except MetricError:
            names = ()
        if name in names:
            return Cause(f"series {_shortened(name)} have no sample of the last minutes{self._scraped(selector)}")
        near = _nearest(name, names)
        if near is not None:
            return Cause(f"no series {_shortened(name)}; did you mean {_shortened(near)}?")
        return Cause(f"no series {_shortened(name)}{self._scraped(selector)}")

    def _without(self, name: str, matcher: Matcher) -> Cause:
        """Explain that no series of this name matches a condition."""
        series = f"no series {_shortened(name)}"
        if matcher.operator != "=":
            return Cause(f"{series} has {plain(str(matcher), _MAX_SHOWN)}", may_be_zero=True)
        try:
            values = self._values(matcher.label, written([Matcher(NAME, "=", name)]))
        except MetricError:  # the server does not list values
            return Cause(f"{series} has {plain(str(matcher), _MAX_SHOWN)}", may_be_zero=True)
        return _other_values(series, matcher.label, matcher.value, values)

    def _short(self, selector: Selector) -> Cause | None:
        """Explain a range with fewer than the two samples that its function needs."""
        span, function = selector.range, selector.function
        if span is None or function not in _NEEDS_TWO:
            return None
        counted = self._samples(f"max(count_over_time({selector}[{format_duration(span)}]))")
        if counted and counted[0][1] > 1:
            return None
        written_span = f"[{format_duration(span)}]"
        targets = _with(selector, self._targets() or ())
        intervals = [interval for each in targets if (interval := _interval(each)) is not None]
        interval = max(intervals, default=None)
        needs = f"{function}() needs two samples within its range {written_span}"
        if interval is not None and span < 2 * interval:
            return Cause(
                f"{needs}, which is shorter than two scrape intervals of {format_duration(interval)}; write at least "
                f"[{format_duration(4 * interval)}], four of them",
                is_mistake=True,
            )
        held = "one" if counted else "none"
        return Cause(
            f"{needs}, and its series have {held} there; if they are new, wait for the next scrape, otherwise write "
            "a range of four scrape intervals"
        )

    def _scraped(self, selector: Selector) -> str:
        """Describe the targets that should have the series."""
        every = self._targets()
        if every is None:
            return ""
        targets = _with(selector, every)
        if not every:
            return "; Prometheus scrapes no target: correct its scrape_configs, or its target files"
        if not targets:
            jobs = sorted({each.labels.get("job", "") for each in every})
            return f"; Prometheus scrapes no target of that job or instance; its jobs: {_listed(jobs)}"
        up, number = sum(each.health == "up" for each in targets), len(targets)
        which = "the scrape target" if number == 1 else f"of the {number} scrape targets"
        text = f"; {which} that may have it " + (("is" if up else "is not") if number == 1 else f"{up} are") + " up"
        text += ", so check the name" if up == number else ""
        down = next((each for each in targets if each.health != "up" and each.last_error), None)
        if up or down is None:
            return text
        url, why = plain(down.scrape_url, _MAX_SHOWN), plain(down.last_error, _MAX_SHOWN)
        return f"{text}: {url}: {why}"


def _with(selector: Selector, targets: Sequence[_Target]) -> Sequence[_Target]:
    """Return the targets with the selector's job and instance."""
    wanted = {each.label: each.value for each in selector.labels if each.operator == "="}
    chosen = {label: wanted[label] for label in ("job", "instance") if label in wanted}
    return [each for each in targets if chosen.items() <= each.labels.items()]


def _interval(target: _Target) -> timedelta | None:
    try:
        return parse_duration(target.scrape_interval)
    except QuantityError:  # older servers omit it
        return None


def _other_values(what: str, label: str, wanted: str, values: Sequence[str]) -> Cause:
    """Explain that a label has other values than the requested one."""
    said = f'{what} has {label}="{_shortened(wanted)}"'
    if not values:
        return Cause(f"{said}, nor the label {label} at all", may_be_zero=True)
    near = difflib.get_close_matches(wanted[:200], values[:_MAX_COMPARED])
    if near:
        return Cause(f'{said}; did you mean "{_shortened(near[0])}"?')
    return Cause(f"{said}; its values: {_listed(values)}", may_be_zero=True)


def _nearest(name: str, names: Sequence[str]) -> str | None:
    """Return the most similar name. Of many names, only those with the longest common beginning are compared."""
    compared = nlargest(_MAX_COMPARED, names, key=lambda each: len(commonprefix((name, each))))  # noqa: RUF071 - no paths
    found = difflib.get_close_matches(name[:200], compared, cutoff=_SIMILAR)
    return found[0] if found else None


def _shortened(text: str) -> str:
    return plain(text, _MAX_SHOWN)


def _listed(values: Sequence[str]) -> str:
    return listed([*map(_shortened, values[:_MAX_NAMED])], _MAX_NAMED, len(values[_MAX_NAMED:]))
