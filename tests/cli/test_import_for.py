"""What `import` and `create` read of the configuration that they write for: the connection, and nothing else."""

from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from autoscaler.cli.app import app
from autoscaler.config import load
from tests.cli.test_import import V1, convert

ADAPTERS = "adapters: {nomad: {type: nomad}, swarm: {type: docker-swarm}, wrong: {type: nomat}, odd: {tpe: nomad}}\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "hpa.yaml"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "autoscaler.yaml"
    path.write_text(ADAPTERS)
    return path


def test_for_nomad_the_query_asks_for_the_job_by_the_label_that_the_docs_recommend(file: Path, config: Path) -> None:
    """Without a slash in the target's name, the query once asked for a job without a name."""
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
def test_a_configuration_that_has_only_adapters_yet_is_enough(file: Path, config: Path, more: str) -> None:
    """`check` wants autoscalers, and `import` and `create` write the first ones."""
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
def test_a_connection_that_is_wrong_is_named(file: Path, config: Path, text: str, adapter: str, told: str) -> None:
    """Only the one that is asked for: the others are for `check` to say."""
    config.write_text(text)
    file.write_text(V1)
    code, out, err = convert(file, "--adapter", adapter, "--config.file", str(config))
    assert (code, out) == (1, "")
    assert told in err
