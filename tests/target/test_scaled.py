"""What an autoscaler scales, as one text, whatever its connection is called."""

import pytest

from adapters.aws.settings import AwsSettings
from adapters.docker_swarm.settings import SwarmSettings
from adapters.memory.settings import GroupSettings, MemorySettings
from adapters.nomad.settings import NomadSettings
from autoscaler.model import TargetRef
from autoscaler.target.scaled import AS_WRITTEN, Place, identify

LOCAL = NomadSettings(address="http://127.0.0.1:4646", region="global", namespace="default")


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NOMAD_ADDR", "NOMAD_REGION", "NOMAD_NAMESPACE", "DOCKER_HOST", "AWS_PROFILE", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)


def test_two_names_of_a_connection_give_one_text() -> None:
    scaled = identify({"a": Place("nomad", LOCAL), "b": Place("nomad", NomadSettings())})
    assert scaled(TargetRef("a", "web/app")) == scaled(TargetRef("b", "web/app"))


def test_defaults_are_written_out() -> None:
    scaled = identify({"a": Place("nomad", LOCAL)})
    plain, full = TargetRef("a", "web/app"), TargetRef("a", "web/app", namespace="default", region="global")
    assert scaled(plain) == scaled(full)
    assert scaled(plain) != scaled(TargetRef("a", "web/app", namespace="other"))


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("nomad", LOCAL, NomadSettings(address="http://10.0.0.1:4646")),
        ("docker-swarm", SwarmSettings(), SwarmSettings(host="tcp://10.0.0.1:2376")),
        ("aws-asg", AwsSettings(region="eu-west-1"), AwsSettings(region="us-east-1")),
        ("aws-asg", AwsSettings(region="eu-west-1"), AwsSettings(region="eu-west-1", profile="other")),
        ("aws-ecs", AwsSettings(region="eu-west-1"), AwsSettings(region="eu-west-1", endpoint_url="http://here:5000")),
    ],
)
def test_another_place_gives_another_text(kind: str, one: object, other: object) -> None:
    scaled = identify({"a": Place(kind, one), "b": Place(kind, other)})
    assert scaled(TargetRef("a", "web/app")) != scaled(TargetRef("b", "web/app"))


def test_another_type_gives_another_text() -> None:
    aws = AwsSettings(region="eu-west-1")
    scaled = identify({"a": Place("aws-asg", aws), "b": Place("aws-ecs", aws)})
    assert scaled(TargetRef("a", "web/app")) != scaled(TargetRef("b", "web/app"))


def test_addresses_in_another_order_are_the_same_place() -> None:
    both = ("http://a:4646", "http://b:4646")
    places = {"a": NomadSettings(addresses=both), "b": NomadSettings(addresses=both[::-1])}
    scaled = identify({name: Place("nomad", settings) for name, settings in places.items()})
    assert scaled(TargetRef("a", "web/app")) == scaled(TargetRef("b", "web/app"))


def test_a_type_without_places_has_one_for_each_connection() -> None:
    """Its groups exist in one connection only."""
    settings = MemorySettings(groups={"web": GroupSettings()})
    scaled = identify({"a": Place("memory", settings), "b": Place("memory", settings)})
    assert scaled(TargetRef("a", "web")) != scaled(TargetRef("b", "web"))
    assert scaled(TargetRef("a", "web")) != AS_WRITTEN(TargetRef("a", "web"))


def test_foreign_code_that_raises_leaves_the_target_as_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr("adapters.nomad.adapter.Nomad.canonical", staticmethod(fail))
    monkeypatch.setattr("adapters.nomad.adapter.Nomad.place", staticmethod(fail))
    scaled = identify({"a": Place("nomad", LOCAL), "b": Place("nomad", LOCAL)})
    assert scaled(TargetRef("a", "web/app")) != scaled(TargetRef("b", "web/app"))


def test_foreign_code_that_returns_nonsense_does_so_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapters.nomad.adapter.Nomad.canonical", staticmethod(lambda *_: "web"))
    monkeypatch.setattr("adapters.nomad.adapter.Nomad.place", staticmethod(lambda *_: 7))
    scaled = identify({"a": Place("nomad", LOCAL)})
    assert scaled(TargetRef("a", "web/app")) == '["nomad","/a","web/app"]'


@pytest.mark.parametrize(
    ("kind", "settings", "known"),
    [
        ("nomad", LOCAL, '["nomad","http://127.0.0.1:4646","web/app","default","global"]'),
        (
            "nomad",
            NomadSettings(addresses=("http://b:4646", "https://a:4646/"), namespace="ops", region="eu"),
            '["nomad","http://b:4646 https://a:4646","web/app","ops","eu"]',
        ),
        ("docker-swarm", SwarmSettings(), '["docker-swarm","unix:///var/run/docker.sock","web/app"]'),
        ("docker-swarm", SwarmSettings(host="tcp://a"), '["docker-swarm","tcp://a:2375","web/app"]'),
        ("aws-asg", AwsSettings(region="eu-west-1"), '["aws-asg","- - - eu-west-1","web/app"]'),
        ("aws-ecs", AwsSettings(profile="ops"), '["aws-ecs","- - ops -","web/app"]'),
        ("memory", MemorySettings(groups={"web": GroupSettings()}), '["memory","/a","web/app"]'),
    ],
)
def test_the_text_stays_the_same_from_version_to_version(kind: str, settings: object, known: str) -> None:
    """States hold it. With another text each autoscaler would begin without its memory, unless a migration changes
    all.
    """
    assert identify({"a": Place(kind, settings)})(TargetRef("a", "web/app")) == known


def test_many_addresses_are_a_short_text() -> None:
    """PostgreSQL indexes it."""
    addresses = [f"http://agent-{number}.example.com:4646" for number in range(100)]
    some = {str(n): NomadSettings(addresses=tuple(addresses[:n])) for n in (99, 100)}
    scaled = identify({name: Place("nomad", settings) for name, settings in some.items()})
    texts = {scaled(TargetRef(name, "web/app")) for name in some}
    assert len(texts) == 2
    assert all(len(text) < 200 for text in texts)


@pytest.mark.parametrize("name", ["half \udfff", 'a "quoted" name', "new\nline", "ünï"])
def test_every_name_has_a_text_of_its_own(name: str) -> None:
    texts = {AS_WRITTEN(TargetRef("a", each)) for each in (name, name + "x", "")}
    assert len(texts) == 3
    assert all(text.isprintable() or "\n" not in text for text in texts)
