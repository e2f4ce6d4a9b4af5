"""The documentation's programs for clouds, with stubs that answer as their tools' documentation says."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from adapters.command import CommandAdapter
from autoscaler.model import TargetRef, TargetState
from autoscaler.target import Adapter, TargetError
from autoscaler.target.contract import AdapterContract, Harness
from tests.adapters.command.harness import EXAMPLES, ROOT, build, call, script
from tests.adapters.command.stubs.groups import Groups, resized

MIG = TargetRef("test", "web", "shop", "europe-west1-b")
VMSS, FLEXIBLE = TargetRef("test", "web", "shop"), TargetRef("test", "flex", "shop")
GROUP = TargetRef("test", "web")
HCLOUD, DOCTL, OPENSTACK, PVESH = "hcloud-servers", "doctl-droplets", "openstack-servers", "pvesh-vms"
LABELLED = (HCLOUD, DOCTL, OPENSTACK, PVESH)
"""Their groups are the machines with a label."""
ALL = [("gcloud-mig", MIG), ("az-vmss", VMSS), ("az-vmss", FLEXIBLE), *((recipe, GROUP) for recipe in LABELLED)]
PROMISES = (
    AdapterContract.test_a_missing_target_is_not_found_and_disturbs_no_other,
    AdapterContract.test_states_have_the_types_and_bounds_of_the_contract,
    AdapterContract.test_instances_can_be_told_apart,
    AdapterContract.test_times_of_instances_are_past,
    AdapterContract.test_scale_in_is_written_and_comes_to_pass,
    AdapterContract.test_scale_out_comes_to_pass_and_keeps_the_instances_that_run,
    AdapterContract.test_named_victims_leave_first,
    AdapterContract.test_scaling_to_zero_and_back,
    AdapterContract.test_a_back_end_that_does_not_answer_is_unavailable,
)
"""The promises that depend on the program.

The adapter keeps the others before it starts `scale`, or whatever the program answers: that the size has changed or is
the same, that a decision is repeated, that the time has passed, that the target is another daemon's, that the adapter
is closed or a dry run. `TestCommand` tests all of them, once, with the program `groups`.
"""
OPTIONS = {"web": ["--type=cx23", "--image=debian-12"], "other": []}


class RecipeHarness(Harness):
    """A group of the stub for each test."""

    patience_seconds = deadline_seconds = 60

    def __init__(self, folder: Path, recipe: str, target: TargetRef) -> None:
        self.recipe, self.chooses_victims = recipe, recipe in LABELLED
        self.target, self.missing = target, TargetRef("test", "nobody", target.namespace, target.region)
        self.folder = folder
        stand_in(folder, recipe, {target.name: ["web-aaaa"]})
        self.adapter = self.rebuild()

    def rebuild(self, *, dry_run: bool = False) -> Adapter:
        self.adapter = built(self.folder, self.recipe)
        return self.adapter

    def set_size_outside(self, size: int) -> None:
        groups = state(self.folder)
        resized(groups[self.target.name], "web", size)
        (self.folder / "groups.json").write_text(json.dumps(groups))

    def unreachable(self) -> Adapter | str:
        script(self.folder, "exec sleep 60", tool(self.recipe))
        return self.rebuild()


def tool(recipe: str) -> str:
    """Return the tool that a recipe runs: `gcloud` for gcloud-mig."""
    return recipe.partition("-")[0]


def stand_in(folder: Path, recipe: str, groups: Groups) -> None:
    """Put the stub of the recipe's tool into the folder."""
    (folder / "groups.json").write_text(json.dumps(groups))
    stub = f"{sys.executable} -S -m tests.adapters.command.stubs {tool(recipe)} {folder}/groups.json"
    script(folder, f'PYTHONPATH={ROOT} exec {stub} "$@"', tool(recipe))


def state(folder: Path) -> Groups:
    """Return the stub's groups."""
    groups: Groups = json.loads((folder / "groups.json").read_text())
    return groups


def built(folder: Path, recipe: str, path: str | None = None, **env: str) -> CommandAdapter:
    """Return the adapter with this recipe. `path`: its PATH; None: the programs in the folder come first.

    The folder gets a `python3`, because the recipes name no other and a developer's may be a slow script. It has no
    packages, which the recipes need not.
    """
    script(folder, f'exec {sys.executable} -S "$@"', "python3")
    options = folder / "options.json"
    options.write_text(json.dumps(OPTIONS))
    more = [str(options)] if recipe in (HCLOUD, DOCTL, OPENSTACK) else []
    observe, scale = ((str(EXAMPLES / recipe), verb, *more) for verb in ("observe", "scale"))
    return build(observe, scale, folder, {"PATH": path or f"{folder}:{os.environ['PATH']}", **env})


def observed(folder: Path, recipe: str, text: str, target: TargetRef) -> TargetState | TargetError:
    """Return what the recipe makes of this script in the tool's place."""
    script(folder, text, tool(recipe))
    return built(folder, recipe).observe([target], call(60))[target]


def answering(**verbs: Any) -> str:
    """Return a script that prints this JSON for each verb."""
    cases = "".join(
        f"*' {verb.replace('_', '-')} '*) echo '{json.dumps(answer)}';;\n" for verb, answer in verbs.items()
    )
    return f'case "$* " in\n{cases}*) exit 3;;\nesac'
