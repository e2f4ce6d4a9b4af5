"""Which registration of a job set the counts of its groups.

A registration (`nomad job run`, Terraform) and a change of a count by Nomad's scaling API both make a version of the
job with a SubmitTime. The API then records a scaling event of the same time (nomad/job_endpoint.go, Job.Scale). So a
version without such an event is a registration's.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

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
_NONE: Final[Mapping[str, Deployment]] = {}


class Registrations:
    """Those of one region's jobs that set the counts last."""

    def __init__(self, client: NomadClient) -> None:
        self._client = client
        self._judged: dict[JobKey, tuple[int, Mapping[str, Deployment]]] = {}
        """Job -> the modify index that was judged, and what came of it."""
        self._seen: dict[JobKey, int] = {}
        """Job -> a modify index without a scaling event. The event is a later write, so the next cycle looks again."""

    def of(self, key: JobKey, job: Job, query: Mapping[str, str | None], call: Call) -> Mapping[str, Deployment]:
        """Return, by group, the registration that set the group's count.

        Costs one or two requests in the two cycles after a change. What Nomad refuses to show is taken for none.
        """
        known = self._judged.get(key)
        if known is not None and known[0] == job.modify_index:
            return known[1]
        try:
            with unavailable_if_malformed(f'the history of job "{key.id}"'):
                found = self._find(key, job, query, call)
        except (NomadRefusal, TargetError):  # the size matters more than who set it
            return _NONE
        if found is None:
            return _NONE
        self.judge(key, job.modify_index, found)
        return found

    def judge(self, key: JobKey, modify_index: int, found: Mapping[str, Deployment] = _NONE) -> None:
        """Keep who set the counts of this version of the job. By default no registration: it is our own write."""
        self._judged[key] = modify_index, found
        self._seen.pop(key, None)

    def forget(self, key: JobKey) -> None:
        """Forget a job that is gone."""
        self._judged.pop(key, None)
        self._seen.pop(key, None)

    def _find(
        self, key: JobKey, job: Job, query: Mapping[str, str | None], call: Call
    ) -> Mapping[str, Deployment] | None:
        """Return the registration by group, or None where the next cycle has to look again."""
        if job.version == 0 or not _is_recent(job.submitted, call.now):
            return _NONE
        scaling = self._client.get(job_path(key, "/scale"), query, call, JobScaling)
        scaled = {
            event.time for group in scaling.groups.values() for event in group.events or () if event.count is not None
        }
        if job.submitted in scaled:
            return _NONE
        if self._seen.get(key) != job.modify_index:
            self._seen[key] = job.modify_index
            return None
        answer = self._client.get(job_path(key, "/versions"), query, call, dict[str, Any])
        versions: Sequence[dict[str, Any]] = answer["Versions"]
        if len(versions) < 2 or versions[0]["JobModifyIndex"] != job.modify_index:
            return _NONE
        rollback = _is_rollback(versions, scaled)
        before = parse_job(versions[1]).groups
        return {
            name: Deployment(str(job.submitted), before[name].count, REMEDY, rollback)
            for name, group in job.groups.items()
            if name in before
        }


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
