"""The policy of a target, as an adapter discovers it: an origin of an autoscaler (`config/origins.py`)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from autoscaler.config.grants import Grant, matches
from autoscaler.config.origins import Document
from autoscaler.config.settings import Settings
from autoscaler.convert.blocks import AutoscalerBlock, name_of, section_value
from autoscaler.convert.imported import Destination
from autoscaler.errors import ConfigError, Problem
from autoscaler.model import TargetRef

Policy: TypeAlias = Mapping[str, Any]
"""An object that `autoscaler import` reads."""
_NO_PERIOD: Final = "its own period of evaluation is left out; it decides in each cycle of controller.syncPeriod"
_DISABLED: Final = "the policy is not enabled"


@dataclass(frozen=True, slots=True)
class TargetPolicy:
    """A version of a target's policy."""

    target: TargetRef
    policy: Policy
    is_ambiguous: bool = False
    """Whether another target has the same name, which is all that a state, a file or a command has of a target."""

    @property
    def place(self) -> str:
        """CONNECTION/NAMESPACE/NAME of the target."""
        return f"{self.target.adapter}/{self.target.namespace}/{self.target.name}"

    def grant(self, grants: Mapping[str, Grant]) -> str | None:
        """Return the name of the only grant that includes the target; None: there is none."""
        for name, grant in grants.items():
            is_granted = self.target.adapter in grant.adapters and self.target.namespace in grant.namespaces
            if is_granted and any(matches(pattern, self.target.name) for pattern in grant.targets):
                return name
        return None

    def document(self, main: Settings, grant: str) -> Document:
        """Return the autoscaler; a dry run unless `discover` has `live`. Raises ConfigError.

        Its queries are for the first source of the grant. A policy of which a part cannot be carried over is refused.
        One that is not enabled has no autoscaler.
        """
        from autoscaler.convert.manifest import read_object  # noqa: PLC0415 - most daemons discover nothing

        if self.is_ambiguous:
            parts = ", ".join(repr(each) for each in self.target.parts)
            message = f"{self.target.name} is also the name of another target; rename a part of this one ({parts})"
            raise ConfigError([self._problem(message)])
        if self.policy.get("Enabled") is False:
            return Document("[]", notes=(_DISABLED,))
        section = main.adapters[self.target.adapter]
        read = read_object(self.policy, self.place, Destination(self.target.adapter, section.type))
        if len(read.imported) != 1:
            problems = [self._problem(each.message, each.path) for each in read.problems]
            raise ConfigError(problems or [self._problem("it is no policy")])
        imported = read.imported[0]
        if imported.left_out:
            raise ConfigError([self._problem(each) for each in imported.left_out])
        namespace, name = self.target.namespace, self.target.name
        mine = replace(imported.block, namespace=namespace, target=name, region=None, sync_period=None)
        block = _under(main.grants[grant], mine, imported.parts or (self.target.name,))
        dry_run = block.dry_run or section.discover is None or not section.discover.live
        value = section_value([replace(block, dry_run=dry_run)])["autoscalers"]
        notes = (*imported.todo, *imported.differences, _NO_PERIOD)
        return Document(json.dumps(value, ensure_ascii=False), self.target, notes)

    def _problem(self, message: str, path: str = "") -> Problem:
        return Problem(self.place, 1, 1, path, message)


def _under(grant: Grant, block: AutoscalerBlock, parts: Sequence[str]) -> AutoscalerBlock:
    """Return the block with a name that begins as the grant says, and with the grant's source.

    `parts`: those of the target's name, of each of which a label of the name is made.
    """
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
