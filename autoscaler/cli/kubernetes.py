"""Names that Kubernetes accepts. It would refuse a manifest with other names.

Source: apimachinery's util/validation (IsDNS1123Label) and api/validation/path (IsValidPathSegmentName), which
autoscaling/v2 requires of a metric's name; for labels see `autoscaler.labels`.
"""

import re
from typing import Annotated, Final, TypeAlias

from pydantic import AfterValidator

from autoscaler.config.fields import DnsName, LabelKey

ObjectName: TypeAlias = DnsName
"""A DNS-1123 subdomain: the name of an autoscaler or of a scaled object."""

_LONGEST_SEGMENT: Final = 1024
"""Characters of a name that Kubernetes does not limit; the limit of texts in the configuration."""


def _check_label(name: str) -> str:
    if not re.fullmatch(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?", name):
        raise ValueError(
            f"{name[:64]!r} is not a valid name; use at most 63 lower-case letters, digits and `-`, as in Kubernetes"
        )
    return name


def _check_segment(name: str) -> str:
    """Check a segment of a URL's path. Only the refusal of unprintable characters is not from Kubernetes."""
    usable = 0 < len(name) <= _LONGEST_SEGMENT and name.isprintable() and name not in (".", "..")
    if not usable or "/" in name or "%" in name:
        raise ValueError(
            f"{name[:64]!r} is not a valid name; use printable characters other than `/` and `%`, as in Kubernetes"
        )
    return name


NamespaceName: TypeAlias = Annotated[str, AfterValidator(_check_label)]
"""A DNS-1123 label."""
ContainerName: TypeAlias = NamespaceName
MetricName: TypeAlias = Annotated[str, AfterValidator(_check_segment)]
ReferredName: TypeAlias = Annotated[str, AfterValidator(_check_segment)]
"""The name or kind of an object that a metric describes."""
ResourceName: TypeAlias = LabelKey
"""A qualified name of Kubernetes, as a label's key is."""
