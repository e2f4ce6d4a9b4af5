"""A state of schema version 1, and what that version read from it.

Both were made by the code of that version (commit 37cd1b2): `data/make_version1.py.txt` says how and of what, and makes
them again.
"""

import gzip
import json
import re
from collections.abc import Mapping
from dataclasses import is_dataclass
from datetime import datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import Any, Final, get_type_hints

from msgspec import Struct

_DATA: Final = Path(__file__).parent / "data"
_MICROSECOND: Final = timedelta(microseconds=1)


def state() -> bytes:
    """The SQLite file."""
    return gzip.decompress((_DATA / "version1.db.gz").read_bytes())


def contents() -> Mapping[str, Any]:
    """What it holds, in the terms of `plain`."""
    found: Mapping[str, Any] = _as_today(json.loads(gzip.decompress((_DATA / "version1.json.gz").read_bytes())))
    return found


def plain(value: Any) -> Any:
    """Any value as JSON that names its class; the same as the one that made the file."""
    if is_dataclass(value) or isinstance(value, Struct):
        names = get_type_hints(type(value))
        return {"is": type(value).__name__, **{name: plain(getattr(value, name)) for name in names}}
    if isinstance(value, Exception):
        return {"is": type(value).__name__, "text": str(value)}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return f"{value // _MICROSECOND} us"
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return repr(value) if isinstance(value, float) else value


_ADDED: Final[Mapping[str, Mapping[str, Any]]] = {
    "Autoscaler": {
        "labels": [],
        "brakes": {"is": "Brakes", "unfulfilled": None, "loss": None, "outside_change": None},
    },
    "ControllerOptions": {"shadow": True, "start_up": "60000000 us"},
    "MetricSpec": {"fallback": None, "kind": None, "service_rate": None},
    "Decision": {
        "failing": [],
        "ready": None,
        "brakes": [],
        "brake_memory": None,
        "shadow": None,
        "shadow_memory": None,
    },
    "History": {"failing": [], "brakes": None, "shadow": None},
    "Observation": {"fallbacks": []},
    "SeriesRow": {"shadow": None},
    "Intent": {"scaled_to_zero": None},
}
"""Fields that version 1 had not, by the class."""


def _as_today(value: Any) -> Any:
    """Where today's model says more or otherwise: numbers of their own, and recommendations in order of time."""
    if isinstance(value, list):
        return [_as_today(item) for item in value]
    if not isinstance(value, dict):
        return value
    found = {key: _as_today(item) for key, item in value.items()}
    if found.get("is") in ("InstanceReading", "MetricOutcome"):
        *named, last = found["unmatched"] or [""]
        more = re.fullmatch(r"and (\d+) more", last)
        found |= {"unmatched": named, "more_unmatched": int(more[1])} if more else {"more_unmatched": 0}
    found |= _ADDED.get(found.get("is", ""), {})
    if found.get("is") == "History":
        found["recommendations"] = sorted(found["recommendations"], key=lambda each: each["at"])
    return found
