"""A list of Nomad's, which is read in full only when its table has changed.

Every answer carries X-Nomad-Index, the table's last change, from the same snapshot as the entries (Nomad's
nomad/rpc.go, blockingRPC). So a request for one entry without a filter shows whether any entry has changed. Nomad's
"blocking queries" send the whole list again even when nothing has changed.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import msgspec

from adapters.nomad.client import NomadClient
from adapters.nomad.entries import Entry
from adapters.nomad.jobs import JobKey
from autoscaler.target import Call, TargetError, TargetUnavailable

_NAMED_IN_FILTER: Final = 20
"""Up to this many jobs, a filter narrows the list to them; for more jobs, the filter costs Nomad more than it saves."""
_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./: ")
"""Characters that need no quoting in a filter, which has no escapes."""
_KEPT_SECONDS: Final = 300.0
"""A list is kept at most this long: the token's rights can change while no table changes."""
UNDECODABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""Raised for an entry of a list that is not of the documented form."""
_Entry = TypeVar("_Entry", bound=Entry)


@dataclass(frozen=True, slots=True)
class Listed(Generic[_Entry]):
    """The entries of a list."""

    of: Mapping[JobKey, Sequence[_Entry]]
    """By job."""
    odd: Mapping[JobKey, TargetError]
    """Jobs with an entry that is not of the documented form."""
    nameless: TargetError | None
    """The error of an entry that does not even name its job; None: each names it."""


@dataclass(slots=True)
class _Known(Generic[_Entry]):
    """A list as last read."""

    entries: Listed[_Entry]
    index: str
    until: float
    first: bytes | None = None
    """The answer with one entry that first had this index. A rebuilt cluster may repeat an index, but not an id."""


class Listing(Generic[_Entry]):
    """One list of one region, for any batch of jobs."""

    def __init__(
        self,
        client: NomadClient,
        path: str,
        entry: type[_Entry],
        *,
        id_field: str,
        only: str = "",
        options: Mapping[str, str] | None = None,
    ) -> None:
        """`id_field`: the field with the job's id; `only`: a filter beside that of the jobs; `options`: more
        parameters.
        """
        self._client = client
        self._path = path
        self._decode = msgspec.json.Decoder(entry).decode
        self._id_field = id_field
        self._only = only
        self._options = options or {}
        self._known: dict[frozenset[JobKey], _Known[_Entry]] = {}

    def read(self, keys: frozenset[JobKey], query: Mapping[str, str | None], call: Call) -> Listed[_Entry]:
        """Return the entries of `keys`; the same object while the list has not changed.

        `query`: region and namespace. Raises NomadRefusal, TargetUnavailable or TargetForbidden.
        """
        known = self._known.get(keys)
        now = self._client.monotonic()
        if known is not None and now < known.until and self._unmoved(known, query, call):
            return known.entries
        entries, index = self.read_whole(keys, query, call)
        self._known = {batch: one for batch, one in self._known.items() if now < one.until and batch != keys}
        if index is not None:
            self._known[keys] = _Known(entries, index, now + _KEPT_SECONDS)
        return entries

    def read_whole(
        self, keys: frozenset[JobKey], query: Mapping[str, str | None], call: Call
    ) -> tuple[Listed[_Entry], str | None]:
        """Return the current entries, and the lowest index that they have; None: the answer has no index."""
        conditions = " and ".join(f"({part})" for part in (self._only, _named(self._id_field, keys)) if part)
        found: dict[JobKey, list[_Entry]] = defaultdict(list)
        odd: dict[JobKey, TargetError] = {}
        nameless: TargetError | None = None
        index: str | None = None
        parameters = {**query, **self._options, "filter": conditions or None}
        for number, page in enumerate(self._client.pages(self._path, parameters, list[msgspec.Raw], call)):
            if not number:
                index = page.table_index  # a later page may be newer
            for raw in page.entries:
                try:
                    entry = self._decode(raw)
                except UNDECODABLE as problem:
                    error, owner = self._odd(problem), _owner(raw, self._id_field)
                    if owner is None:
                        nameless = error
                    else:
                        odd[owner] = error
                    continue
                key = JobKey(entry.namespace, entry.job)
                if key in keys:
                    found[key].append(entry)
        return Listed(dict(found), odd, nameless), index

    def _odd(self, problem: Exception) -> TargetError:
        return TargetUnavailable(
            f"GET {self._path}: an entry is not of the form expected ({problem}); is this address an agent's?"
        )

    def _unmoved(self, known: _Known[_Entry], query: Mapping[str, str | None], call: Call) -> bool:
        index, body = self._client.first_entry(self._path, {**query, **self._options}, call)
        if index != known.index or known.first not in (None, body):
            return False
        known.first = body
        return True


def _owner(raw: msgspec.Raw, id_field: str) -> JobKey | None:
    """Return the job of an entry that is not of the documented form, if it names one."""
    try:
        entry = msgspec.json.decode(raw, type=dict[str, Any])
    except UNDECODABLE:
        return None
    namespace, job = entry.get("Namespace"), entry.get(id_field)
    return JobKey(namespace, job) if isinstance(namespace, str) and isinstance(job, str) else None


def _named(field: str, keys: frozenset[JobKey]) -> str:
    """Return a filter for these jobs; empty: read all jobs and select here."""
    ids = sorted({key.id for key in keys})
    if len(ids) > _NAMED_IN_FILTER or not all(_PLAIN.issuperset(one) for one in ids):
        return ""
    return " or ".join(f'{field} == "{one}"' for one in ids)
