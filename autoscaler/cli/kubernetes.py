"""Names as Kubernetes takes them: a manifest with others was never applied, and is not one to copy from.

Source: apimachinery's util/validation (IsDNS1123Label) and api/validation/path (IsValidPathSegmentName), which is all
that autoscaling/v2 asks of a metric's name; for labels see `autoscaler.labels`.
"""

import re
from typing import Annotated, Final, TypeAlias

from pydantic import AfterValidator

from autoscaler.config.fields import DnsName, LabelKey

ObjectName: TypeAlias = DnsName
"""DNS-1123 subdomain: of an autoscaler, and of whatever has replicas."""

_LONGEST_SEGMENT: Final = 1024
"""Characters of a name for which Kubernetes has no limit; a name in our configuration may have as many."""


def _check_label(name: str) -> str:
    if not re.fullmatch(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?", name):
        raise ValueError(
            f"{name[:64]!r} is not a valid name; Kubernetes takes at most 63 lower-case letters, digits, `-`"
        )
    return name


def _check_segment(name: str) -> str:
    """Of a URL's path. That no letter may be unprintable is ours: no name that is in use has one."""
    usable = 0 < len(name) <= _LONGEST_SEGMENT and name.isprintable() and name not in (".", "..")
    if not usable or "/" in name or "%" in name:
        raise ValueError(
            f"{name[:64]!r} is not a valid name; use printable characters other than `/` and `%`, as Kubernetes"
        )
    return name


NamespaceName: TypeAlias = Annotated[str, AfterValidator(_check_label)]
"""DNS-1123 label."""
ContainerName: TypeAlias = NamespaceName
MetricName: TypeAlias = Annotated[str, AfterValidator(_check_segment)]
ReferredName: TypeAlias = Annotated[str, AfterValidator(_check_segment)]
"""Of an object that a metric is about, or of its kind."""
ResourceName: TypeAlias = LabelKey
"""Both are what Kubernetes calls a qualified name."""
