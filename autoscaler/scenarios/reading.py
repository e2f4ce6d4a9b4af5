"""Reads a file of tests and checks it against the configuration: every problem at once, each with its place."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Final

from autoscaler.config.document import YamlDocument
from autoscaler.config.file_of_model import read_model
from autoscaler.config.loader import load
from autoscaler.config.problems import Problems
from autoscaler.config.settings import Settings
from autoscaler.errors import ConfigError
from autoscaler.fields.find_values import Loc
from autoscaler.fields.types import suggest
from autoscaler.model import Autoscaler, MetricSpec
from autoscaler.observe.plan import Question, question
from autoscaler.quantity import format_duration
from autoscaler.rules.fallback import fallback_queries
from autoscaler.scenarios.answers import Answer
from autoscaler.scenarios.events import clock_step
from autoscaler.scenarios.file import File, Signal, Subject, Test, openmetrics_series
from autoscaler.scenarios.instances import Group
from autoscaler.scenarios.notation import Values
from autoscaler.scenarios.scenario import Expected, Happening, Scenario
from autoscaler.scenarios.times import Start

_MAX_CYCLES: Final = 50_000
"""Cycles of a scenario: more than a week of cycles every 15 s."""
_MAX_REPLICAS: Final = 10_000
_MAX_SAMPLES: Final = 1_000_000


def read_tests(path: Path, config: Path | None = None) -> Sequence[Scenario]:
    """Return the tests in `path`. `config`: the configuration, in place of the one that the file names.

    Raises ConfigError with every problem of the first file that has any.
    """
    file, document, problems = read_model(path, File, "the keys config and tests")
    at = config or file.config
    if at is None:
        problems.add(("config",), "is missing; name the configuration here, or with --config.file")
        raise ConfigError(list(problems))
    settings = load(at)
    checks = [_Check(document, problems, settings, number, test) for number, test in enumerate(file.tests)]
    scenarios = [check.scenario() for check in checks]
    if any(problems):
        raise ConfigError(list(problems))
    return [scenario for scenario in scenarios if scenario is not None]


class _Check:
    """Checks one test. What is wrong is added to the problems."""

    def __init__(self, document: YamlDocument, problems: Problems, settings: Settings, number: int, test: Test) -> None:
        self._document = document
        self._problems = problems
        self._settings = settings
        self._loc: Loc = ("tests", number)
        self._test = test
        self._start: Start | None = None

    def scenario(self) -> Scenario | None:
        """Return the test, or None if something is wrong with it."""
        before = len(list(self._problems))
        try:
            self._start = Start.of(self._test.start, self._test.timezone)
        except ValueError as error:
            self._add(("start",), error)
        scalers = self._scalers()
        groups = {name: self._group(scaler) for name, scaler in scalers.items()}
        series = self._series()
        answers = {} if self._test.series else self._answers(scalers, groups)
        happenings = list(self._happenings(scalers))
        expected = list(self._expected())
        duration = timedelta(0)
        if len(list(self._problems)) == before:
            duration = self._duration(happenings, expected, scalers)
        if self._start is None or len(list(self._problems)) > before:
            return None
        sources = {
            name: replace(source, merge_queries=source.merge_queries and bool(series))
            for name, source in self._settings.prometheus.items()
        }
        return Scenario(
            name=self._test.name,
            place=self._place(()),
            start=self._start,
            duration=duration,
            interval=self._test.interval,
            settings=replace(self._settings, autoscalers=tuple(scalers.values()), prometheus=sources),
            groups={scalers[name].target: group for name, group in groups.items()},
            answers=answers,
            series=series,
            happenings=sorted(happenings, key=lambda each: each.at),
            expected=[replace(each, end=duration) if each.end < each.begin else each for each in expected],
        )

    def _add(self, loc: Loc, message: object) -> None:
        self._problems.add((*self._loc, *loc), str(message))

    def _place(self, loc: Loc) -> str:
        line, column = self._document.place((*self._loc, *loc))
        return f"{self._document.file}:{line}:{column}"

    def _scalers(self) -> Mapping[str, Autoscaler]:
        """The test's autoscalers: none is a dry run, as a test asks what the file decides."""
        known = {scaler.name: scaler for scaler in self._settings.autoscalers}
        found = {}
        for name in self._test.autoscalers:
            if name not in known:
                message = f"{self._settings.path} has no autoscaler {name[:64]!r}; {suggest(name, known)}"
                self._problems.add((*self._loc, "autoscalers", name), message, of_key=True)
                continue
            found[name] = replace(known[name], dry_run=False, sync_period=self._test.tick or known[name].sync_period)
        return found

    def _group(self, scaler: Autoscaler) -> Group:
        subject = self._test.autoscalers[scaler.name]
        containers = {each.container: subject.requests for each in scaler.metrics if each.container is not None}
        group = Group(scaler.name, subject.start_up, subject.requests, containers, subject.warm_up)
        size = max(1, scaler.min_replicas) if subject.replicas is None else subject.replicas
        if size > _MAX_REPLICAS:
            self._add(("autoscalers", scaler.name, "replicas"), f"{size} is too large; write at most {_MAX_REPLICAS}")
        else:
            group.resize(size, timedelta(days=-1))
        return group

    def _series(self) -> Mapping[str, Values]:
        """Series as OpenMetrics writes them -> their values. Nothing else may answer a query beside them."""
        if not self._test.series:
            return {}
        beside: list[Loc] = [
            ("autoscalers", name, key)
            for name, subject in self._test.autoscalers.items()
            for key in ("load", "values")
            if getattr(subject, key)
        ]
        for loc in [*beside, *([("queries",)] if self._test.queries else [])]:
            self._add(loc, "the test has `series`, over which Prometheus evaluates every query; remove one of the two")
        found = dict[str, Values]()
        for text, values in self._test.series.items():
            try:
                series = openmetrics_series(text)
            except ValueError as error:
                self._add(("series", text), error)
                continue
            if series in found:
                self._add(("series", text), "the test has this series twice; remove one of them")
            found[series] = values
        return found

    def _answers(
        self, scalers: Mapping[str, Autoscaler], groups: Mapping[str, Group]
    ) -> Mapping[Question, Sequence[Answer]]:
        answers = dict[Question, list[Answer]]()
        shared = self._shared(scalers)
        for name, scaler in scalers.items():
            subject, group, loc = self._test.autoscalers[name], groups[name], ("autoscalers", name)
            self._check_metrics(scaler, subject)
            for spec, fallback in zip(scaler.metrics, fallback_queries(scaler), strict=True):
                signal, is_load = self._signal(subject, spec, loc)
                for query in (spec.query, spec.request_query):
                    if query is None:
                        continue
                    given = shared.get(query.expr) if signal is None or query is not spec.query else signal
                    if given is None:
                        self._unanswered(spec, loc, is_request=query is not spec.query)
                    else:
                        of_load = is_load and query is spec.query
                        answer = Answer.of(given, spec, query, group, is_load=of_load)
                        self._put(answers.setdefault(question(query), []), answer, spec, loc)
                if fallback is not None and fallback.expr in shared:
                    answer = Answer.of(shared[fallback.expr], spec, fallback, group)
                    self._put(answers.setdefault(question(fallback), []), answer, spec, loc)
        return answers

    def _put(self, answers: list[Answer], answer: Answer, spec: MetricSpec, loc: Loc) -> None:
        """Add an answer to those of its query. An entry of `queries` answers equal users once."""
        same = [each for each in answers if each.overlaps(answer)]
        if not same:
            answers.append(answer)
        elif same[0].values is not answer.values:
            self._add(loc, f"another metric has the query of metric {spec.name}, too; answer it once, under `queries`")

    def _signal(self, subject: Subject, spec: MetricSpec, loc: Loc) -> tuple[Signal | None, bool]:
        """What a metric's own values or load say, and whether it is a load."""
        load = subject.load.get(spec.name)
        if load is not None and spec.name in subject.values:
            self._add((*loc, "load", spec.name), "the metric has `values`, too; remove one of them")
        return (subject.values.get(spec.name), False) if load is None else (load, True)

    def _check_metrics(self, scaler: Autoscaler, subject: Subject) -> None:
        names = [spec.name for spec in scaler.metrics]
        for key, given in (("values", subject.values), ("load", subject.load)):
            for name in given:
                loc = ("autoscalers", scaler.name, key, name)
                if name not in names:
                    self._add(loc, f"{scaler.name} has no metric {name[:64]!r}; {suggest(name, names)}")
                elif names.count(name) > 1:
                    self._add(loc, f"{scaler.name} has several metrics {name[:64]!r}; answer them under `queries`")

    def _shared(self, scalers: Mapping[str, Autoscaler]) -> Mapping[str, Signal]:
        """Expression -> what `queries` answers to it."""
        asked = {query.expr for scaler in scalers.values() for query in scaler.queries}
        found = dict[str, Signal]()
        for number, each in enumerate(self._test.queries):
            loc: Loc = ("queries", number)
            shared = self._settings.shared.queries
            if each.ref is not None and each.ref not in shared:
                message = f"{self._settings.path} has no query {each.ref[:64]!r}; {suggest(each.ref, shared)}"
                self._add((*loc, "ref"), message)
                continue
            expr = each.expr if each.ref is None else shared[each.ref].expr.text
            same = [text for text in asked if text.strip() == (expr or "").strip()]
            if not same:
                self._add((*loc, "expr" if each.ref is None else "ref"), "no autoscaler of the test asks this query")
            values: Signal = each.values
            found |= dict.fromkeys(same, values)
        return found

    def _unanswered(self, spec: MetricSpec, loc: Loc, *, is_request: bool) -> None:
        if is_request:
            self._add(loc, f"the request of metric {spec.name} is a query without an answer; add it to `queries`")
        else:
            self._add(loc, f"metric {spec.name} has no answer; give it `values` or `load`")

    def _happenings(self, scalers: Mapping[str, Autoscaler]) -> Iterator[Happening]:
        for number, event in enumerate(self._test.events):
            loc: Loc = ("events", number)
            at = self._elapsed(event.at, (*loc, "at"))
            if event.verb == "outage":
                known = [f"prometheus.{name}" for name in self._settings.prometheus]
                known += [f"adapters.{name}" for name in self._settings.adapters]
                if event.subject not in known:
                    self._add((*loc, "outage"), f"there is no {event.subject[:64]!r}; {suggest(event.subject, known)}")
            elif event.verb == "clock":
                try:
                    clock_step(event.subject)
                except ValueError as error:
                    self._add((*loc, "clock"), error)
            elif event.verb != "restart" and event.subject not in scalers:
                message = f"the test has no autoscaler {event.subject[:64]!r}; {suggest(event.subject, scalers)}"
                self._add((*loc, event.verb), message)
            if event.replicas is not None and event.replicas > _MAX_REPLICAS:
                self._add((*loc, "replicas"), f"{event.replicas} is too large; write at most {_MAX_REPLICAS}")
            if at is not None:
                yield Happening(at, event)

    def _expected(self) -> Iterator[Expected]:
        """With an end before its begin where it lasts to the end of the test."""
        for name, subject in self._test.autoscalers.items():
            for number, what in enumerate(subject.expect):
                loc: Loc = ("autoscalers", name, "expect", number)
                begin = self._elapsed(what.at or what.begin or "0", (*loc, "at" if what.at else "from"))
                end = self._elapsed(what.to, (*loc, "to")) if what.to is not None else None
                if begin is None:
                    continue
                if end is not None and end < begin:
                    self._add((*loc, "to"), "is before `from`")
                if what.at is not None:
                    end = begin + (what.within or timedelta(0))
                yield Expected(self._place(loc), name, what, begin, begin - timedelta(1) if end is None else end)

    def _elapsed(self, text: str, loc: Loc) -> timedelta | None:
        if self._start is None:
            return None
        try:
            return self._start.elapsed(text)
        except ValueError as error:
            self._add(loc, error)
            return None

    def _duration(
        self, happenings: Sequence[Happening], expected: Sequence[Expected], scalers: Mapping[str, Autoscaler]
    ) -> timedelta:
        named = [each.at + (each.event.lasts or timedelta(0)) for each in happenings]
        named += [max(each.begin, each.end) for each in expected]
        last = max(named, default=timedelta(0))
        duration = self._test.duration or last
        if duration < last:
            self._add(
                ("duration",), f"a time of the test is {format_duration(last)} after its start; write at least that"
            )
        if duration == timedelta(0):
            self._add((), "nothing says how long it lasts; add `duration` or a time to expect something at")
        shortest = min((scaler.sync_period for scaler in scalers.values()), default=timedelta(seconds=1))
        if duration / shortest > _MAX_CYCLES:
            longest = format_duration(_MAX_CYCLES * shortest)
            self._add((), f"it lasts {format_duration(duration)}; write at most {longest}, or a longer `tick`")
        samples = len(self._test.series) * (duration // self._test.interval + 1)
        if samples > _MAX_SAMPLES:
            self._add(
                ("series",), f"they have {samples:,} samples; {_MAX_SAMPLES:,} are possible; write a longer `interval`"
            )
        return duration
