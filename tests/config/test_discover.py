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


@pytest.mark.parametrize("text", ["", ", discover: {policies: false, live: true}"])
def test_without_policies_nothing_is_discovered(load_text: Load, text: str) -> None:
    """A connection may be prepared for it."""
    settings = load_text(f"adapters: {{jobs: {{type: nomad{text}}}}}{GRANTED}")
    assert settings.adapters["jobs"].discover is None


def test_a_connection_without_a_granted_namespace_discovers_nothing(load_text: Load) -> None:
    """An operator would wait for its autoscalers in vain."""
    text = "adapters: {jobs: {type: nomad, discover: {policies: true}}}\nautoscalers: []\n"
    said = problem(load_text, text)
    assert "adapters.jobs.discover: discovers nothing, because no grant includes a namespace of the connection" in said


def test_a_type_without_policies_refuses_it(load_text: Load) -> None:
    """Of the types that come along, only Nomad has some."""
    text = "adapters: {jobs: {type: docker-swarm, discover: {policies: true}}}\nautoscalers: []\n"
    assert "a connection of type 'docker-swarm' has no scaling policies; remove it" in problem(load_text, text)


def test_policies_is_required(load_text: Load) -> None:
    """`discover: {live: true}` alone says nothing of what is discovered."""
    assert "policies" in problem(load_text, "adapters: {jobs: {type: nomad, discover: {live: true}}}" + GRANTED)
