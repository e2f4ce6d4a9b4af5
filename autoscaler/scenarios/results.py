"""Runs tests and keeps their results."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from autoscaler.cli.explain import explanation as explanation_lines
from autoscaler.layout import Screen
from autoscaler.quantity import format_duration
from autoscaler.record.archive import Archive
from autoscaler.record.housekeeping import Retention
from autoscaler.record.state import State
from autoscaler.scenarios.expectations import Failure, failure
from autoscaler.scenarios.prometheus import evaluating
from autoscaler.scenarios.run import Run
from autoscaler.scenarios.scenario import Scenario
from autoscaler.view.explain import explanation

_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - the folder in it is this process's own
"""A folder in memory, where commits wait for no disk."""
_FOREVER: Final = timedelta(days=36_500)
_HEAD_LINES: Final = 2
"""Of an explanation: they name the autoscaler and the time, as the failure does."""
_MAX_EXPLAINED: Final = 10
"""Failures of a test that are explained."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one test."""

    scenario: Scenario
    seconds: float
    failures: Sequence[tuple[Failure, Sequence[str]]]
    """Each with the explanation of its decision, in lines."""
    errors: Sequence[str]
    """What failed apart from the expectations: a cycle that could not be run."""

    @property
    def passed(self) -> bool:
        """Whether everything was as expected."""
        return not self.failures and not self.errors


def result_of(scenario: Scenario) -> Result:
    """Run a test. Raises StateError, PrometheusFailed."""
    began = time.monotonic()
    with TemporaryDirectory(prefix="autoscaler-test-", dir=_MEMORY if _MEMORY.is_dir() else None) as folder:
        state = State.open(None, Path(folder), Retention(_FOREVER, _FOREVER))
        try:
            with evaluating(scenario) as evaluate:
                run = Run(scenario, state, evaluate)
                run.to_its_end()
            unmet = [failure(each, run.seen[each.autoscaler], scenario.start) for each in scenario.expected]
            failures = [each for each in unmet if each is not None]
            explained = [
                (each, _explained(each, scenario, state.archive) if number < _MAX_EXPLAINED else ())
                for number, each in enumerate(failures)
            ]
        finally:
            state.close()
    return Result(scenario, time.monotonic() - began, explained, tuple(dict.fromkeys(run.errors)))


def _explained(each: Failure, scenario: Scenario, archive: Archive) -> Sequence[str]:
    decided, ago = each.seen.decided, each.seen.decided_ago
    record = None if decided is None else archive.record_at(each.expected.autoscaler, decided)
    if decided is None or record is None:
        return ()
    document = explanation(record, scenario.settings.prometheus)
    earlier = [f"The last decision, {format_duration(ago)} earlier:", ""] if ago else []
    return [*earlier, *explanation_lines(document, decided, Screen())[_HEAD_LINES:]]
