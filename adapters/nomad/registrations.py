"""Which registration of a job set the counts of its groups.

A registration (`nomad job run`, Terraform) and a change of a count by Nomad's scaling API both make a version of the
job with a SubmitTime. The API then records a scaling event of the same time (nomad/job_endpoint.go, Job.Scale). So a
version without such an event is a registration's.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from adapters.nomad.client import NomadClient, NomadRefusal, unavailable_if_malformed
from adapters.nomad.entries import JobScaling
from adapters.nomad.jobs import Job, JobKey, job_path, parse_job
from autoscaler.target import Call, Deployment, TargetError

REMEDY: Final = "deploy with `nomad job run -preserve-counts`"
_JUDGED_FOR: Final = timedelta(hours=1)
"""The age of the oldest registration that is judged. Nothing that an autoscaler remembers is older."""
_NOT_OF_THE_SPECIFICATION: Final = frozenset(
    {"CreateIndex", "JobModifyIndex", "ModifyIndex", "NomadTokenID", "Stable", "Status", "StatusDescription"}
    | {"SubmitTime", "Version", "VersionTag"}
)


class Registration(NamedTuple):
    """The registration that made the present version of a job."""

    of_group: Mapping[str, Deployment] = {}
    """By group. Empty: the version is not a registration's."""
    certain: bool = True
    """False: the next cycle looks again, because the scaling event of a change is a later write."""

    def sure(self, group: str) -> Deployment | None:
        """Return the group's deployment, or None if it is unknown or not certain yet."""
        return self.of_group.get(group) if self.certain else None

    def reset_by(self, group: str, count: int) -> str:
        """Return that it changed the group's count, and the remedy; empty: it did not."""
        found = self.of_group.get(group)
        if found is None or found.rollback or found.before == count:
            return ""
        return f"the last registration set the count from {found.before} to {count}, and the next one may; {REMEDY}"


_NONE: Final = Registration()


class Registrations:
    """Those of the jobs of one region."""

    def __init__(self, client: NomadClient) -> None:
        self._client = client
        self._judged: dict[JobKey, tuple[int, Registration]] = {}
        """Job -> its modify index, and who made that version."""

    def of(self, key: JobKey, job: Job, query: Mapping[str, str | None], call: Call) -> Registration:
        """Return the registration that made the present version of the job.

        Costs at most four requests after a change that another client made. What Nomad refuses to show is taken for
        none.
        """
        index, known = self._judged.get(key, (None, _NONE))
        if index == job.modify_index and known.certain:
            return known
        try:
            with unavailable_if_malformed(f'the history of job "{key.id}"'):
                found = self._find(key, job, query, call, certain=index == job.modify_index)
        except (NomadRefusal, TargetError):  # the size matters more than who set it
            return _NONE
        self._judged[key] = job.modify_index, found
        return found

    def set_by_us(self, key: JobKey, modify_index: int) -> None:
        """Keep that our own write made this version of the job."""
        self._judged[key] = modify_index, _NONE

    def forget(self, key: JobKey) -> None:
        """Forget a job that is gone."""
        self._judged.pop(key, None)

    def _find(
        self, key: JobKey, job: Job, query: Mapping[str, str | None], call: Call, *, certain: bool
    ) -> Registration:
        if job.version == 0 or not _is_recent(job.submitted, call.now):
            return _NONE
        scaling = self._client.get(job_path(key, "/scale"), query, call, JobScaling)
        events = [event for group in scaling.groups.values() for event in group.events or ()]
        scaled = {event.time for event in events if event.count is not None}
        if job.submitted in scaled:
            return _NONE
        answer = self._client.get(job_path(key, "/versions"), query, call, dict[str, Any])
        versions: Sequence[dict[str, Any]] = answer["Versions"]
        if len(versions) < 2 or versions[0]["JobModifyIndex"] != job.modify_index:
            return _NONE
        rollback = _is_rollback(versions, scaled)
        before = parse_job(versions[1]).groups
        found = {
            name: Deployment(str(job.submitted), before[name].count, REMEDY, rollback)
            for name in job.groups
            if name in before
        }
        return Registration(found, certain)


def _is_recent(nanoseconds: int, now: datetime) -> bool:
    return now.timestamp() - nanoseconds / 1e9 < _JUDGED_FOR.total_seconds()


def _is_rollback(versions: Sequence[Mapping[str, Any]], scaled: set[int]) -> bool:
    """Return whether the newest version repeats an earlier one, and not just the last registration.

    An automatic revert keeps the time of the version that it returns to. `nomad job revert` leaves no mark. A file that
    is registered once more repeats the last registration.
    """
    newest, *older = versions
    if any(each["SubmitTime"] >= newest["SubmitTime"] for each in older):
        return True
    last = next((each for each in older if each["SubmitTime"] not in scaled), None)
    same = [each for each in older if _specification(each) == _specification(newest)]
    return bool(same) and last not in same


def _specification(version: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: value for key, value in version.items() if key not in _NOT_OF_THE_SPECIFICATION}
