"""The policy of a target, as an adapter discovers it: an origin of an autoscaler (`config/origins.py`).

It is an object of another system, which is converted, or an `AutoscalerBody`, in the form of the configuration.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from autoscaler.config.grants import Grant
from autoscaler.config.origins import Document
from autoscaler.config.settings import Settings
from autoscaler.convert.blocks import AutoscalerBlock, name_of, section_value
from autoscaler.convert.imported import Destination
from autoscaler.errors import ConfigError, Problem
from autoscaler.model import TargetRef
from autoscaler.target import AutoscalerBody, load

Policy: TypeAlias = Mapping[str, Any] | AutoscalerBody
"""As `Discovery.policies` has it."""
_MAX_TEXT: Final = 64 * 2**10
"""Characters of a body."""
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
        """CONNECTION/NAMESPACE/NAME of the target; without namespaces CONNECTION/NAME."""
        return place_of(self.target)

    def grant(self, grants: Mapping[str, Grant]) -> str | None:
        """Return the name of the only grant that includes the target; None: there is none."""
        return next((name for name, grant in grants.items() if grant.includes(self.target)), None)

    def document(self, main: Settings, grant: str) -> Document:
        """Return the document with the policy's autoscaler, a dry run unless `discover` has `live`.

        A converted policy queries the grant's first source. A policy that is not enabled has no autoscaler. Raises
        ConfigError, also if a part of the policy cannot be converted.
        """
        if self.is_ambiguous:
            parts = ", ".join(repr(each) for each in self.target.parts)
            message = f"{self.target.name} is also the name of another target; rename a part of this one ({parts})"
            raise ConfigError([self._problem(message)])
        section = main.adapters[self.target.adapter]
        dry_run = section.discover is None or not section.discover.live
        if isinstance(self.policy, AutoscalerBody):
            return self._of_body(self.policy, main.grants[grant], dry_run=dry_run)
        if self.policy.get("Enabled") is False:
            return Document("[]", notes=(_DISABLED,))
        from autoscaler.convert.manifest import read_object  # noqa: PLC0415 - most daemons convert nothing

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
        value = section_value([block])["autoscalers"]
        notes = (*imported.todo, *imported.differences, _NO_PERIOD)
        return Document(json.dumps(value, ensure_ascii=False), self.target, notes, dry_run)

    def _of_body(self, body: AutoscalerBody, grant: Grant, *, dry_run: bool) -> Document:
        problems = list(body.problems)
        if len(body.text) > _MAX_TEXT:
            problems.append(f"it has {len(body.text):,} characters, and at most {_MAX_TEXT:,} are read; shorten it")
        if problems:
            raise ConfigError([self._problem(each) for each in problems])
        target = {"adapter": self.target.adapter, "name": self.target.name, "namespace": self.target.namespace}
        head = {
            "name": _name(grant, self.target.namespace, self.target.parts or (self.target.name,)),
            "scaleTargetRef": {key: value for key, value in target.items() if value is not None},
        }
        return Document(body.text, self.target, dry_run=dry_run, head=head)

    def _problem(self, message: str, path: str = "") -> Problem:
        return Problem(self.place, 1, 1, path, message)


def _under(grant: Grant, block: AutoscalerBlock, parts: Sequence[str]) -> AutoscalerBlock:
    """Return the block with the name of its target, of which `parts` are the parts, and with the grant's source."""
    source = next(iter(grant.sources), None)
    metrics = [replace(each, query=replace(each.query, source=source)) for each in block.metrics]
    return replace(block, name=_name(grant, block.namespace, parts), metrics=metrics)


def _name(grant: Grant, namespace: str | None, parts: Sequence[str]) -> str:
    """Return the name of a target's autoscaler, which begins as the grant says: a label for each part."""
    name = ".".join(name_of(part.replace("/", ".")) for part in (*filter(None, [namespace]), *parts))
    return name if name.startswith(grant.name_prefix) else grant.name_prefix + name


def place_of(target: TargetRef) -> str:
    """Return CONNECTION/NAMESPACE/NAME of a target; CONNECTION/NAME if it has no namespace."""
    return "/".join(filter(None, [target.adapter, target.namespace, target.name]))


def granted_namespaces(connection: str, adapter_type: str, grants: Mapping[str, Grant]) -> Sequence[str]:
    """Return the namespaces in which a connection's targets are granted, sorted; empty: its targets have none."""
    if "namespace" not in load(adapter_type).target_keys:
        return []
    found = {name for grant in grants.values() if connection in grant.adapters for name in grant.namespaces}
    return sorted(found)
