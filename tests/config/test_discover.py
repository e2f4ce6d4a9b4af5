"""A connection's `discover` is checked offline."""

import pytest

from autoscaler.config.settings import Discover
from autoscaler.errors import ConfigError
from tests.config.conftest import Load

GRANTED = """
grants:
  shop:
    namePrefix: shop.
    maxReplicas: 5
    adapters: [jobs]
    namespaces: [shop]
    targets: ["*"]
    sources: [default]
    maxQueries: 9
autoscalers: []
"""


def problem(load_text: Load, text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load_text(text)
    (found,) = caught.value.problems
    return str(found)


def test_policies_are_discovered_as_dry_runs(load_text: Load) -> None:
    """Until the operator has compared them."""
    settings = load_text("adapters: {jobs: {type: nomad, discover: {policies: true}}}" + GRANTED)
    assert settings.adapters["jobs"].discover == Discover(policies=True, live=False)


def test_labels_are_discovered_where_no_grant_has_namespaces(load_text: Load) -> None:
    """Services have none."""
    granted = GRANTED.replace("    namespaces: [shop]\n", "")
    settings = load_text("adapters: {jobs: {type: docker-swarm, discover: {labels: true, live: true}}}" + granted)
    assert settings.adapters["jobs"].discover == Discover(labels=True, live=True)


@pytest.mark.parametrize("text", ["{live: true}", "{policies: false, labels: false}"])
def test_a_section_that_discovers_nothing_is_refused(load_text: Load, text: str) -> None:
    """`discover: {live: true}` alone says nothing of what is discovered."""
    said = problem(load_text, f"adapters: {{jobs: {{type: nomad, discover: {text}}}}}{GRANTED}")
    assert "adapters.jobs.discover: discovers nothing; write policies: true or labels: true, or remove it" in said


def test_a_connection_without_a_granted_namespace_discovers_nothing(load_text: Load) -> None:
    """An operator would wait for its autoscalers in vain."""
    text = "adapters: {jobs: {type: nomad, discover: {policies: true}}}\nautoscalers: []\n"
    said = problem(load_text, text)
    assert "adapters.jobs.discover: discovers nothing, because no grant includes a namespace of the connection" in said
    text = "adapters: {jobs: {type: docker-swarm, discover: {labels: true}}}\nautoscalers: []\n"
    assert "discovers nothing, because no grant includes the connection; add one" in problem(load_text, text)


def test_a_type_without_autoscalers_to_discover_refuses_the_key(load_text: Load) -> None:
    """Nothing would ever be found."""
    text = "adapters: {jobs: {type: aws-ecs, discover: {policies: true}}}\nautoscalers: []\n"
    said = problem(load_text, text)
    assert "a connection of type 'aws-ecs' has no autoscalers to discover; remove it" in said


@pytest.mark.parametrize(
    ("kind", "key", "other"), [("nomad", "labels", "policies"), ("docker-swarm", "policies", "labels")]
)
def test_each_type_has_one_kind_of_autoscalers_to_discover(load_text: Load, kind: str, key: str, other: str) -> None:
    """Jobs have policies, and services have labels."""
    said = problem(load_text, f"adapters: {{jobs: {{type: {kind}, discover: {{{key}: true}}}}}}{GRANTED}")
    assert f"adapters.jobs.discover.{key}: a connection of type '{kind}' has none; write {other}: true" in said
