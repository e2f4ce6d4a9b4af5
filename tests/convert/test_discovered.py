"""A discovered policy becomes an autoscaler under the grant that includes its target, or says why not."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from autoscaler.config.origins import Reading, read_version
from autoscaler.config.settings import Settings
from autoscaler.convert.discovered import TargetPolicy, granted_namespaces
from autoscaler.errors import ConfigError
from autoscaler.model import Autoscaler, TargetRef
from autoscaler.target import AutoscalerBody
from tests.cli.nomad import SCHEDULE, check, policy
from tests.convert.grants import settings

TARGET: Final = TargetRef("nomad", "cache/app", "shop")


def found(value: Mapping[str, Any], given: Settings, target: TargetRef = TARGET) -> Reading:
    job, _, group = target.name.rpartition("/")
    names = {"Namespace": target.namespace, "Job": job, "Group": group}
    return read_version(TargetPolicy(target, {**value, "Target": names}), given)


def scaler_of(value: Mapping[str, Any], given: Settings, target: TargetRef = TARGET) -> Autoscaler:
    (one,) = found(value, given, target).granted
    return one.scaler


def refusal(value: Mapping[str, Any], given: Settings, target: TargetRef = TARGET) -> str:
    with pytest.raises(ConfigError) as caught:
        found(value, given, target)
    return "; ".join(f"{each.path}: {each.message}" for each in caught.value.problems)


def test_a_body_becomes_an_autoscaler_of_its_target(tmp_path: Path) -> None:
    """Its back end, such as Swarm with its labels, has autoscalers of ours. The name is the grant's."""
    query = "{expr: q, prometheus: shop}"
    metric = f"{{type: External, external: {{metric: {{name: q}}, query: {query}, target: {{type: Value, value: 1}}}}}}"
    body = AutoscalerBody(f"maxReplicas: 3\nmetrics: [{metric}]\n")
    (one,) = read_version(TargetPolicy(TARGET, body), settings(tmp_path)).granted
    assert (one.scaler.name, one.scaler.target, one.scaler.max_replicas) == ("shop.cache.app", TARGET, 3)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (AutoscalerBody("", ("autoscaler.max is no key",)), "autoscaler.max is no key"),
        (AutoscalerBody("#" * 65_537), "it has 65,537 characters, and at most 65,536 are read; shorten it"),
    ],
)
def test_a_body_with_a_problem_is_refused(tmp_path: Path, body: AutoscalerBody, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        read_version(TargetPolicy(TARGET, body), settings(tmp_path))


def test_a_policy_becomes_an_autoscaler(tmp_path: Path) -> None:
    """Named after its namespace, job and group, and with the source, labels and ceiling of its grant."""
    scaler = scaler_of(policy(), settings(tmp_path))
    assert (scaler.name, scaler.target) == ("shop.cache.app", TARGET)
    assert (scaler.min_replicas, scaler.max_replicas, scaler.labels) == (2, 8, (("team", "shop"),))
    assert {query.prometheus for query in scaler.queries} == {"shop"}
    assert not scaler.dry_run


def test_a_discovered_autoscaler_is_a_dry_run_until_live(tmp_path: Path) -> None:
    """Also where the policy says so itself."""
    assert scaler_of(policy(), settings(tmp_path, live=False)).dry_run
    own = policy(body={"target": [{"nomad": [{"dry-run": True}]}]})
    assert scaler_of(own, settings(tmp_path)).dry_run


def test_a_name_begins_with_the_grants_prefix(tmp_path: Path) -> None:
    """It is put before a name that does not."""
    scaler = scaler_of(policy(), settings(tmp_path, namePrefix="team-a-"))
    assert scaler.name == "team-a-shop.cache.app"


@pytest.mark.parametrize(
    ("job", "group", "name"),
    [
        ("cache", "_edge", "shop.cache.edge"),
        ("Checkout-", "app", "shop.checkout.app"),
        ("-", "___", "shop.autoscaler.autoscaler"),
        ("a..b.", ".c", "shop.a.b.c"),
        ("team/web", "app", "shop.team.web.app"),
        ("cache", "api/v1", "shop.cache.api.v1"),
        ("cache", "<b>ä", "shop.cache.b"),
    ],
)
def test_each_part_of_a_name_becomes_a_label(tmp_path: Path, job: str, group: str, name: str) -> None:
    """Nomad takes almost any name. Joined first, they once gave labels that end with a dash."""
    target = TargetRef("nomad", f"{job}/{group}", "shop", parts=(job, group))
    value = {**policy(), "Target": {"Namespace": "shop", "Job": job, "Group": group}}
    (one,) = read_version(TargetPolicy(target, value), settings(tmp_path, targets=["*"])).granted
    scaler = one.scaler
    assert scaler.name == name
    assert scaler.target == target


def test_a_group_with_a_slash_keeps_its_job(tmp_path: Path) -> None:
    """Its target was split at the last slash, and the queries selected a group `v1`."""
    target = TargetRef("nomad", "cache/api/v1", "shop", parts=("cache", "api/v1"))
    value = policy(check(source="nomad-apm", query="avg_cpu-allocated"), Target={"Job": "cache", "Group": "api/v1"})
    (one,) = read_version(TargetPolicy(target, value), settings(tmp_path)).granted
    scaler = one.scaler
    assert scaler.target.parts == ("cache", "api/v1")
    assert 'job="cache",task_group="api/v1"' in scaler.metrics[0].query.expr


def test_the_differences_of_a_policy_are_notes(tmp_path: Path) -> None:
    """They do not keep it from scaling: the import names the same."""
    said = found(policy(body={"cooldown": "1m30s"}), settings(tmp_path)).notes
    assert any("does nothing for 1m30s after scaling out" in each for each in said)
    assert any("controller.syncPeriod" in each for each in said)


def test_a_policy_that_is_not_enabled_has_no_autoscaler(tmp_path: Path) -> None:
    """Its owner says so: it is no mistake, for which the last good version would stay in force."""
    off = found(policy(Enabled=False), settings(tmp_path))
    assert (off.granted, off.notes) == ((), ("the policy is not enabled",))


def test_a_refusal_names_the_key_of_the_autoscaler(tmp_path: Path) -> None:
    """A policy has no file, so no place in one is named."""
    assert refusal(policy(Min=9, Max=4), settings(tmp_path)).startswith("autoscalers[0].maxReplicas: ")


REFUSED: Final = {
    "a strategy without a counterpart": (policy(check(), check("threshold", {"delta": 1})), "check c1: it is left out"),
    "a check's schedule": (policy(check(schedule=SCHEDULE)), "its schedule is left out"),
    "the policy's schedule": (policy(body={"schedule": SCHEDULE}), "the policy's schedule is left out"),
    "no check": (policy(body={"check": []}), "has no check that can be converted"),
    "a query that is not PromQL": (policy(check(query="sum(")), "query"),
    "another target": (policy(body={"target": [{"aws-asg": [{}]}]}), "target aws-asg does not scale a group"),
    "a wrong number": (policy(check(options={"target": "ten"})), "c0: target is 'ten'"),
    "another type": (policy(Max="9"), "Max: expected a whole number"),
    "no bounds": (policy(Min=9, Max=4), "4 is below minReplicas 9"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_part_of_a_policy_that_cannot_be_carried_over_is_named(tmp_path: Path, case: str) -> None:
    """A part of a policy could scale to what the whole never asks for."""
    value, message = REFUSED[case]
    assert message in refusal(value, settings(tmp_path))


def test_a_target_that_no_grant_includes_is_named(tmp_path: Path) -> None:
    """A grant of the namespace is not a grant of each job in it."""
    given = settings(tmp_path)
    assert "no grant includes it" in refusal(policy(), given, TargetRef("nomad", "pay/app", "shop"))
    assert "no grant includes it" in refusal(policy(), given, TargetRef("nomad", "cache/app", "pay"))


def test_a_source_that_is_not_granted_is_named(tmp_path: Path) -> None:
    """Without a granted source the queries would go to the default one."""
    assert "does not include the source 'default'" in refusal(policy(), settings(tmp_path, sources=[]))


@pytest.mark.parametrize("value", [{}, {"Policy": 3, "Target": {}}, {"kind": "Deployment"}, policy(Policy=[[]])])
def test_a_value_that_is_no_policy_is_an_error(tmp_path: Path, value: Mapping[str, Any]) -> None:
    """An answer of any form costs its own target alone."""
    with pytest.raises(ConfigError):
        read_version(TargetPolicy(TARGET, value), settings(tmp_path))


def test_namespaces_are_those_of_the_connections_grants(tmp_path: Path) -> None:
    """Only these are listed."""
    assert granted_namespaces("nomad", "nomad", settings(tmp_path, namespaces=["shop", "dev"]).grants) == [
        "dev",
        "shop",
    ]
    assert granted_namespaces("other", "nomad", settings(tmp_path).grants) == []
    assert granted_namespaces("nomad", "docker-swarm", settings(tmp_path).grants) == []
