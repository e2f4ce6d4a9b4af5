"""Converts the policies that an adapter discovers to autoscalers, each under the grant that includes its target."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from autoscaler.config.grants import Grant, matches
from autoscaler.config.outside import Granted, read_outside
from autoscaler.config.settings import Settings
from autoscaler.errors import AutoscalerError, ConfigError
from autoscaler.model import TargetRef

if TYPE_CHECKING:
    from autoscaler.convert.blocks import AutoscalerBlock

_NO_PERIOD: Final = "its own period of evaluation is left out; it decides in each cycle of controller.syncPeriod"


class NotConverted(AutoscalerError):
    """A policy becomes no autoscaler; the message says why, in one line."""


class Ambiguous(NotConverted):
    """Two targets have one name, which is all that a state, a file or a command has of a target."""

    def __init__(self, target: TargetRef) -> None:
        parts = ", ".join(repr(each) for each in target.parts)
        super().__init__(f"{target.name} is also the name of another target; rename a part of this one ({parts})")


@dataclass(frozen=True, slots=True)
class Converted:
    """An autoscaler that was made of a policy."""

    grant: str
    """The grant's name."""
    granted: Granted
    differences: Sequence[str]
    """Where it scales differently than the policy."""


def convert_policy(target: TargetRef, policy: Mapping[str, Any], settings: Settings) -> Converted:
    """Return the autoscaler of a target's policy; a dry run unless `discover` has `live`. Raises NotConverted.

    Its queries are for the first source of the grant. A policy of which a part cannot be carried over is not converted.
    """
    from autoscaler.convert.blocks import section_value  # noqa: PLC0415 - most daemons discover nothing
    from autoscaler.convert.imported import Destination  # noqa: PLC0415 - as above
    from autoscaler.convert.manifest import read_object  # noqa: PLC0415 - as above

    name = f"{target.namespace}/{target.name}"
    grant_name = _grant_of(target, settings.grants)
    grant = settings.grants[grant_name]
    read = read_object(policy, name, Destination(target.adapter, settings.adapters[target.adapter].type))
    if len(read.imported) != 1:
        raise NotConverted("; ".join([f"{each.path}: {each.message}" for each in read.problems] or ["it is no policy"]))
    imported = read.imported[0]
    if imported.left_out:
        raise NotConverted("; ".join(imported.left_out))
    mine = replace(imported.block, namespace=target.namespace, target=target.name, region=None, sync_period=None)
    block = _under(grant, mine, imported.parts or (target.name,))
    discover = settings.adapters[target.adapter].discover
    dry_run = block.dry_run or discover is None or not discover.live
    (value,) = section_value([replace(block, dry_run=dry_run)])["autoscalers"]
    try:
        (granted,) = read_outside(json.dumps([value], ensure_ascii=False), name, grant, settings)
    except ConfigError as error:
        problems = [f"{each.path.removeprefix('autoscalers[0].')}: {each.message}" for each in error.problems]
        raise NotConverted("; ".join(problems)) from None
    granted = replace(
        granted, scaler=replace(granted.scaler, target=replace(granted.scaler.target, parts=target.parts))
    )
    capped = [granted.capped] if granted.capped else []
    return Converted(grant_name, granted, [*imported.todo, *imported.differences, *capped, _NO_PERIOD])


def _grant_of(target: TargetRef, grants: Mapping[str, Grant]) -> str:
    """Return the name of the only grant that includes a target. Raises NotConverted."""
    for name, grant in grants.items():
        is_granted = target.adapter in grant.adapters and target.namespace in grant.namespaces
        if is_granted and any(matches(pattern, target.name) for pattern in grant.targets):
            return name
    raise NotConverted(f"no grant includes it; add the target to one of those with the namespace {target.namespace}")


def _under(grant: Grant, block: "AutoscalerBlock", parts: Sequence[str]) -> "AutoscalerBlock":
    """Return the block with a name that begins as the grant says, and with the grant's source.

    `parts`: those of the target's name, of each of which a label of the name is made.
    """
    from autoscaler.convert.blocks import name_of  # noqa: PLC0415 - as above

    name = ".".join(name_of(part.replace("/", ".")) for part in (block.namespace or "", *parts))
    if not name.startswith(grant.name_prefix):
        name = grant.name_prefix + name
    source = next(iter(grant.sources), None)
    metrics = [replace(each, query=replace(each.query, source=source)) for each in block.metrics]
    return replace(block, name=name, metrics=metrics)


def granted_namespaces(connection: str, grants: Mapping[str, Grant]) -> Sequence[str]:
    """Return the namespaces in which a connection's targets are granted, sorted."""
    found = {name for grant in grants.values() if connection in grant.adapters for name in grant.namespaces}
    return sorted(found)
