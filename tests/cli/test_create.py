"""`autoscaler create` writes configuration that `check` accepts."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from autoscaler.config.loader import load
from autoscaler.errors import ConfigError
from tests.cli.importing import create, with_two_autoscalers

ADAPTERS = """\
adapters:
  fleet: {type: aws-asg, region: eu-west-1}
  containers: {type: aws-ecs, region: eu-west-1}
  swarm: {type: docker-swarm}
  nomad: {type: nomad}
  local: {type: process, pools: {shop: {command: [sleep, "9"]}}}
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "autoscaler.yaml"
    file.write_text(f"{ADAPTERS}autoscalers: []\n")
    return file


@pytest.mark.parametrize(
    "target", ["fleet/web-asg", "containers/shop/web", "swarm/shop_web", "nomad/shop/web", "local/shop"]
)
@pytest.mark.parametrize(
    "metrics", [("--cpu", "60%"), ("--cpu", "500m"), ("--memory", "80%"), ("--cpu", "60%", "--memory", "1Gi")]
)
def test_check_accepts_the_output_for_every_adapter(config: Path, target: str, metrics: tuple[str, ...]) -> None:
    """The queries are those of the adapter's usual exporter."""
    code, out, err = create("--target", target, "--min", "2", "--max", "10", *metrics, "--config.file", str(config))
    assert code == 0
    written = out.replace("# request: ", "request: 3 ") if err else out
    config.write_text(ADAPTERS + written)
    (scaler,) = load(config).autoscalers
    assert str(scaler.target) == target
    assert (scaler.min_replicas, scaler.max_replicas, len(scaler.metrics)) == (2, 10, len(metrics) // 2)


def test_without_a_configuration_the_output_says_that_the_queries_are_a_guess(config: Path) -> None:
    """The output is valid nevertheless."""
    code, out, _ = create("--target", "other/Web_1", "--max", "3", "--cpu", "60%")
    assert code == 0
    assert "the queries are a guess" in out
    written: Any = yaml.safe_load(out)
    assert written["autoscalers"][0]["name"] == "web-1"
    config.write_text(out + "adapters: {other: {type: docker-swarm}}\n")
    assert load(config).autoscalers[0].min_replicas == 1


def test_a_capacity_that_only_its_operator_knows_is_left_to_write(config: Path) -> None:
    """A pool's instances reserve nothing. `request: 1` was a guess that `check` accepted."""
    code, out, err = create(
        "--target", "local/shop", "--max", "9", "--cpu", "60%", "--memory", "50%", "--config.file", str(config)
    )
    assert code == 0
    assert out.count("          # request:                # capacity of one instance: write it\n") == 2
    assert err.splitlines() == [
        "shop: metrics[0], Resource cpu: write request, the capacity of one instance",
        "shop: metrics[1], Resource memory: write request, the capacity of one instance",
    ]
    config.write_text(ADAPTERS + out)
    with pytest.raises(ConfigError, match="request: is missing"):
        load(config)


def test_an_unknown_connection_is_refused_with_the_nearest_name(config: Path) -> None:
    code, out, err = create("--target", "flet/x", "--max", "3", "--cpu", "60%", "--config.file", str(config))
    assert (code, out) == (1, "")
    assert err == f"no connection 'flet' in `adapters` of {config}; did you mean `fleet`?\n"


@pytest.mark.parametrize(
    ("target", "more", "problem"),
    [
        (
            "nomad/shop/web",
            (),
            "shop-web: its target nomad/shop/web is already scaled by front in FILE; change that one",
        ),
        (
            "nomad/shop/web",
            ("--name", "front"),
            "front: its target nomad/shop/web is already scaled by front in FILE; change that one",
        ),
        ("swarm/team", (), "team: its target swarm/team is already scaled by of-team in FILE; change that one"),
        ("swarm/front", (), "front: its name is already that of an autoscaler in FILE; give this one another"),
        (
            "swarm/x",
            ("--name", "of-team"),
            "of-team: its name is already that of an autoscaler in FILE; give this one another",
        ),
    ],
)
def test_a_target_or_name_that_is_taken_is_refused(
    tmp_path: Path, target: str, more: tuple[str, ...], problem: str
) -> None:
    """`check` refuses the second autoscaler of a target, in the main file or of a team."""
    config = with_two_autoscalers(tmp_path)
    code, out, err = create("--target", target, "--max", "3", "--cpu", "60%", *more, "--config.file", str(config))
    assert (code, out, err) == (1, "", problem.replace("FILE", str(config)) + "\n")


def test_a_configuration_that_is_not_finished_takes_any_target(tmp_path: Path) -> None:
    """Its connections are all that is read of it."""
    config = with_two_autoscalers(tmp_path)
    config.write_text(config.read_text() + "unfinished:\n")
    code, out, _ = create("--target", "nomad/shop/web", "--max", "3", "--cpu", "60%", "--config.file", str(config))
    assert code == 0
    assert "shop/web" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ("--target", "fleet", "--max", "3", "--cpu", "60%"),
        ("--target", "/x", "--max", "3", "--cpu", "60%"),
        ("--target", "a/b", "--max", "3"),
        ("--target", "a/b", "--max", "3", "--cpu", "lots"),
        ("--target", "a/b", "--max", "3", "--cpu", "0%"),
        ("--target", "a/b", "--max", "3", "--cpu", "-1"),
        ("--target", "a/b", "--min", "4", "--max", "3", "--cpu", "60%"),
        ("--target", "a/b", "--cpu", "60%"),
    ],
)
def test_invalid_arguments_exit_2_and_print_nothing(arguments: tuple[str, ...]) -> None:
    code, out, _ = create(*arguments)
    assert (code, out) == (2, "")
