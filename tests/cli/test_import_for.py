"""`import` and `create` read only the named connection from the configuration."""

from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from autoscaler.cli.app import app
from autoscaler.config.loader import load
from tests.cli.importing import V1, convert

ADAPTERS = "adapters: {nomad: {type: nomad}, swarm: {type: docker-swarm}, wrong: {type: nomat}, odd: {tpe: nomad}}\n"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "autoscaler.yaml"
    path.write_text(ADAPTERS)
    return path


def test_for_nomad_the_query_selects_the_job_by_label(file: Path, config: Path) -> None:
    """A target name without a slash once gave a query for a job without a name."""
    file.write_text(V1)
    code, out, err = convert(file, "--adapter", "nomad", "--config.file", str(config))
    assert code == 0
    (scaler,) = yaml.safe_load(out)["autoscalers"]
    expr = scaler["metrics"][0]["resource"]["query"]["expr"]
    assert expr == 'sum by (alloc_id) (nomad_client_allocs_cpu_total_ticks{job="api"})'
    assert "scaleTargetRef.name api/api is a guess, because Kubernetes has no task groups; write it as JOB/GROUP" in err
    config.write_text(ADAPTERS.replace(", wrong: {type: nomat}, odd: {tpe: nomad}", "") + out)
    assert str(load(config).autoscalers[0].target) == "nomad/api/api"


@pytest.mark.parametrize("more", ["", "autoscalers:\n", "autoscalers: [{}]\nprometheus: 3\n"])
def test_a_configuration_with_only_adapters_is_enough(file: Path, config: Path, more: str) -> None:
    """`import` and `create` write the first autoscalers."""
    config.write_text(ADAPTERS + more)
    file.write_text(V1)
    code, out, _ = convert(file, "--adapter", "swarm", "--config.file", str(config))
    assert code == 0
    assert "container_cpu_usage_seconds_total" in out
    arguments = ["--target", "swarm/web", "--max", "3", "--cpu", "60%", "--config.file", str(config)]
    assert CliRunner().invoke(app, ["create", *arguments]).exit_code == 0


@pytest.mark.parametrize(
    ("text", "adapter", "told"),
    [
        ("", "nomad", "no connection 'nomad' in `adapters`"),
        ("[1]", "nomad", "no connection 'nomad'"),
        ("adapters: 3\n", "nomad", "no connection 'nomad'"),
        (ADAPTERS, "nomat", "did you mean `nomad`?"),
        (ADAPTERS, "wrong", "no adapter of type 'nomat' is installed; did you mean `nomad`?"),
        (ADAPTERS, "odd", "adapters.odd.type: is missing"),
        ("adapters: {nomad: 3}\n", "nomad", "expected a mapping with a type"),
        ("adapters: [", "nomad", "invalid YAML"),
    ],
)
def test_an_invalid_connection_is_named(file: Path, config: Path, text: str, adapter: str, told: str) -> None:
    """Errors in other connections are left to `check`."""
    config.write_text(text)
    file.write_text(V1)
    code, out, err = convert(file, "--adapter", adapter, "--config.file", str(config))
    assert (code, out) == (1, "")
    assert told in err
