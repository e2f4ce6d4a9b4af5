"""Which registration of a job set the counts of its groups.

A registration (`nomad job run`, Terraform) and a change of a count by Nomad's scaling API both make a version of the
job with a SubmitTime. The API then records a scaling event of the same time (nomad/job_endpoint.go, Job.Scale). So a
version without such an event is a registration's.
"""

from collections.abc import Mapping, Sequence, Set
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, Final, NamedTuple

from adapters.nomad.client import NomadClient, NomadRefusal, unavailable_if_malformed
from adapters.nomad.entries import JobScaling
from adapters.nomad.jobs import Job, JobKey, job_path, parse_job
from autoscaler.target import Call, Deployment, TargetError

REMEDY: Final = "deploy with `nomad job run -preserve-counts`"
_JUDGED_FOR: Final = timedelta(hours=1)
"""The age of the oldest registration that is judged at its first sight. An autoscaler remembers nothing older."""
_NOT_OF_THE_SPECIFICATION: Final = frozenset(
    {"CreateIndex", "JobModifyIndex", "ModifyIndex", "NomadTokenID", "Stable", "Status", "StatusDescription"}
    | {"SubmitTime", "Version", "VersionTag"}
)


class Registration(NamedTuple):
    """The registrations that set the counts of a job's groups."""

    of_group: Mapping[str, Deployment] = {}
    """By group. Without a group: its count was scaled since its last registration."""

    @property
    def certain(self) -> bool:
        """Return whether the next cycle need not look again."""
        return all(one.certain for one in self.of_group.values())

    def reset_by(self, group: str, count: int) -> str:
        """Return that it changed the group's count, and the remedy; empty: it did not."""
        found = self.of_group.get(group)
        if found is None or found.rollback or found.before in (0, count):
            return ""
        return f"the last registration set the count from {found.before} to {count}, and the next one may; {REMEDY}"


_NONE: Final = Registration()


class Registrations:
    """The registrations of the jobs of one region."""

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
        if job.version == 0 or (index is None and not _is_recent(job.submitted, call.now)):
            old = _NONE if job.version else Registration({name: _first(job.submitted) for name in job.groups})
            self._judged[key] = job.modify_index, old
            return old
        try:
            with unavailable_if_malformed(f'the history of job "{key.id}"'):
                found = self._find(key, job, query, call, {one.id for one in known.of_group.values()})
        except (NomadRefusal, TargetError):  # the size matters more than who set it
            return _NONE
        self._judged[key] = job.modify_index, found
        return found

    def set_by_us(self, key: JobKey, group: str, modify_index: int) -> None:
        """Keep that our own write to the group made this version of the job."""
        if key in self._judged:
            others = {name: found for name, found in self._judged[key][1].of_group.items() if name != group}
            self._judged[key] = modify_index, Registration(others)

    def forget(self, key: JobKey) -> None:
        """Forget a job that is gone."""
        self._judged.pop(key, None)

    def _find(self, key: JobKey, job: Job, query: Mapping[str, str | None], call: Call, seen: Set[str]) -> Registration:
        """`seen`: the ids of the registrations that the last cycle found."""
        scaling = self._client.get(job_path(key, "/scale"), query, call, JobScaling).groups
        scaled = {
            name: {event.time for event in group.events or () if event.count is not None}
            for name, group in scaling.items()
        }
        if all(job.submitted in scaled.get(name, ()) for name in job.groups):
            return _NONE
        answer = self._client.get(job_path(key, "/versions"), query, call, dict[str, Any])
        versions: Sequence[dict[str, Any]] = answer["Versions"]
        if versions[0]["JobModifyIndex"] != job.modify_index:
            return _NONE
        history = _History(versions, [parse_job(version) for version in versions], frozenset().union(*scaled.values()))
        found = {name: history.deployment(name, scaled.get(name, set()), call.now, seen) for name in job.groups}
        return Registration({name: one for name, one in found.items() if one is not None})


class _History(NamedTuple):
    """The versions of a job that Nomad keeps, the newest first."""

    raw: Sequence[Mapping[str, Any]]
    parsed: Sequence[Job]
    scaled: frozenset[int]
    """When a count of any group was scaled."""

    def deployment(self, group: str, scaled: Set[int], now: datetime, seen: Set[str]) -> Deployment | None:
        """Return the registration that set the group's count; None: it was scaled since. `scaled`: when it was.

        It is certain if it was `seen` before, because the scaling event of a change is a later write.
        """
        newest, found = 0, list[tuple[str, int]]()
        for place, (version, before) in enumerate(pairwise(self.parsed)):
            at = version.submitted
            if at in scaled or (place and not _is_recent(at, now)):
                break
            if before.stopped or group not in before.groups:
                if not found:
                    return _first(at)
                break
            if at not in self.scaled:  # what scaled another group left this one
                newest = newest if found else place
                found.append((str(at), before.groups[group].count))
        if not found:
            return None
        (identity, count), *earlier = found
        return Deployment(identity, count, REMEDY, self._is_rollback(newest), tuple(earlier), identity in seen)

    def _is_rollback(self, place: int) -> bool:
        """Return whether a version repeats an earlier one, and not just the last registration.

        An automatic revert keeps the time of the version that it returns to. `nomad job revert` leaves no mark. A file
        that is registered once more repeats the last registration, also when Nomad no longer keeps that one.
        """
        newest, *older = self.raw[place:]
        if any(each["SubmitTime"] >= newest["SubmitTime"] for each in older):
            return True
        last = next((each for each in older if each["SubmitTime"] not in self.scaled), None)
        same = [each for each in older if _specification(each) == _specification(newest)]
        return bool(same) and last is not None and last not in same


def _first(nanoseconds: int) -> Deployment:
    """Return the registration that created a group, or started it again."""
    return Deployment(str(nanoseconds), 0, "")


def _is_recent(nanoseconds: int, now: datetime) -> bool:
    """Return whether a version is. An automatic revert makes the newest one look old."""
    return now.timestamp() - nanoseconds / 1e9 < _JUDGED_FOR.total_seconds()


def _specification(version: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: value for key, value in version.items() if key not in _NOT_OF_THE_SPECIFICATION}
