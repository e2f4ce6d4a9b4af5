"""One test, checked against the configuration: what is simulated, what happens, what is expected."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from autoscaler.config.settings import Settings
from autoscaler.model import Autoscaler, TargetRef
from autoscaler.observe.plan import Question
from autoscaler.scenarios.answers import Answer
from autoscaler.scenarios.file import Event, Expectation
from autoscaler.scenarios.instances import Group
from autoscaler.scenarios.notation import Values
from autoscaler.scenarios.times import Start


@dataclass(frozen=True, slots=True)
class Happening:
    """An event and when it happens."""

    at: timedelta
    event: Event


@dataclass(frozen=True, slots=True)
class Expected:
    """An expectation of an autoscaler."""

    place: str
    """FILE:LINE:COLUMN."""
    autoscaler: str
    what: Expectation
    begin: timedelta
    end: timedelta
    """The last moment that counts; `begin` where only one does."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """Ready to run, once."""

    name: str
    place: str
    """FILE:LINE:COLUMN."""
    start: Start
    duration: timedelta
    interval: timedelta
    settings: Settings
    """The configuration with the autoscalers of the test alone."""
    groups: Mapping[TargetRef, Group]
    answers: Mapping[Question, Sequence[Answer]]
    series: Mapping[str, Values]
    """As OpenMetrics writes a series -> its values. A Prometheus evaluates the queries over them, if there are any."""
    happenings: Sequence[Happening]
    """In order of time."""
    expected: Sequence[Expected]

    @property
    def scalers(self) -> Mapping[str, Autoscaler]:
        """The test's autoscalers, by name."""
        return {scaler.name: scaler for scaler in self.settings.autoscalers}
