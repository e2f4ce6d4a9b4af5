"""`check` accepts what `import` prints, whatever null or default the original has."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from typer.testing import CliRunner

from autoscaler.cli.app import app
from autoscaler.config.loader import load
from autoscaler.errors import ConfigError
from tests.cli import keda, nomad
from tests.cli.hpa import CPU, hpa, metric
from tests.cli.imported_fields import IMPORTED, LEFT_OUT, job
from tests.cli.importing import V1, V2, convert, with_two_autoscalers

ADAPTERS: Final = {
    "nomad": {"type": "nomad"},
    "swarm": {"type": "docker-swarm"},
    "fleet": {"type": "aws-asg", "region": "eu-west-1"},
    "pools": {"type": "process", "pools": {name: {"command": ["x"]} for name in ("api", "web", "worker", "x")}},
}
EXAMPLES: Final[Mapping[str, Any]] = {
    **{f"imported, {name}": given for name, (given, _) in IMPORTED.items()},
    **{f"left out, {name}": given for name, (given, _) in LEFT_OUT.items()},
    **{f"KEDA, {row}": given for row, (given, *_) in {**keda.SAME, **keda.SAID}.items()},
    **{f"Nomad, {row}": given for row, (given, *_) in {**nomad.SAME, **nomad.SAID}.items()},
    "HPA v1": yaml.safe_load(V1),
    "HPA v2": list(yaml.safe_load_all(V2))[1],
    "two targets of one HPA's name": [hpa(CPU), hpa(CPU, namespace="stage")],
    "two tenants": [
        keda.scaled_object(keda.prometheus(customHeaders=f"X-Scope-OrgID={tenant}"), scaleTargetRef={"name": tenant})
        | {"metadata": {"name": tenant}}
        for tenant in "ab"
    ],
}


def checked(out: str, folder: Path, adapter: str) -> None:
    """Load what was printed beside its connection and sources, with the missing queries and requests written."""
    text = out.replace("expr: ''", "expr: up")
    text = re.sub(r"# request: +# capacity of one instance: write it", "request: 1", text)
    sources = {"default", *re.findall(r"prometheus: (\S+)", text)}
    head = {
        "adapters": {adapter: ADAPTERS[adapter]},
        "prometheus": {name: {"url": "http://localhost:9090"} for name in sources},
    }
    config = folder / "autoscaler.yaml"
    config.write_text(yaml.safe_dump(head) + text)
    load(config)


def run(given: Any, folder: Path, adapter: str) -> tuple[int, str, str]:
    file, config = folder / "given.json", folder / "adapters.yaml"
    file.write_text(json.dumps(given))
    config.write_text(yaml.safe_dump({"adapters": ADAPTERS}))
    return convert(file, "--adapter", adapter, "--config.file", str(config))


@pytest.mark.parametrize("name", EXAMPLES)
def test_check_accepts_what_is_printed(name: str, tmp_path: Path) -> None:
    """A line that `check` refuses would be found only after the file was put together."""
    given = EXAMPLES[name]
    adapter = "nomad" if "nomad" in name.lower() else "swarm"
    code, out, err = run(given, tmp_path, adapter)
    assert code == 0, err
    checked(out, tmp_path, adapter)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_request_is_written_by_the_operator_where_no_instance_has_a_reservation(adapter: str, tmp_path: Path) -> None:
    """A capacity of 1 was a guess, and `check` accepted it."""
    _, out, err = run(hpa(CPU), tmp_path, adapter)
    missing = adapter == "pools"
    assert bool(re.search(r"\n {10}# request: +# capacity of one instance: write it\n", out)) is missing
    assert ("metrics[0], Resource cpu: write request, the capacity of one instance" in err) is missing
    assert "request: 1 " not in re.sub(r"# request: 1 .*left out", "", out)
    config = tmp_path / "autoscaler.yaml"
    config.write_text(yaml.safe_dump({"adapters": {adapter: ADAPTERS[adapter]}}) + out)
    if missing:
        with pytest.raises(ConfigError, match=r"resource\.request: is missing"):
            load(config)
        checked(out, tmp_path, adapter)


def test_targets_of_two_namespaces_are_told_apart(tmp_path: Path) -> None:
    """Two autoscalers of one target would overwrite each other's sizes."""
    code, out, err = run([hpa(CPU), hpa(CPU, namespace="stage")], tmp_path, "swarm")
    assert code == 0
    targets = [each["scaleTargetRef"]["name"] for each in yaml.safe_load(out)["autoscalers"]]
    assert targets == ["default-api", "stage-api"]
    assert "scaleTargetRef.name stage-api is a guess, because default has a target of the same name" in err


def test_of_two_autoscalers_of_one_target_the_first_is_printed(tmp_path: Path) -> None:
    """Kubernetes scales neither of them."""
    other = hpa(CPU) | {"metadata": {"name": "other"}}
    code, out, err = run([hpa(CPU), other, hpa(CPU, name="third")], tmp_path, "swarm")
    assert (code, [each["name"] for each in yaml.safe_load(out)["autoscalers"]]) == (1, ["api", "third"])
    assert " is already scaled by api at " in err


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"customHeaders": "X-Scope-OrgID=a"}, {"customHeaders": "X-Scope-OrgID=b"}),
        ({"customHeaders": "X-Scope-OrgID=a"}, {}),
        ({"queryParameters": "tenant=a"}, {"queryParameters": "tenant=b"}),
        ({"namespace": "a"}, {"namespace": "b"}),
        ({"authModes": "basic"}, {"authModes": "bearer"}),
        ({"unsafeSsl": "true"}, {}),
        ({"awsRegion": "eu-west-1"}, {"awsRegion": "us-east-1"}),
        ({"serverAddress": "http://a"}, {"serverAddress": "http://b"}),
    ],
)
@pytest.mark.parametrize("apart", [False, True], ids=["one object", "two objects"])
def test_tenants_of_one_server_have_sources_of_their_own(
    one: dict[str, str], other: dict[str, str], *, apart: bool, tmp_path: Path
) -> None:
    """Else a team scales by another's load. The names hold for all objects of the import."""
    triggers = [keda.prometheus(**one), keda.prometheus(**other)]
    given = [keda.scaled_object(*triggers)]
    if apart:
        given = [keda.scaled_object(trigger) for trigger in triggers]
        given[1] |= {"metadata": {"name": "other"}, "spec": given[1]["spec"] | {"scaleTargetRef": {"name": "x"}}}
    _, out, err = run(given, tmp_path, "swarm")
    assert [*sources(out)] == [None, "prometheus-2"]
    assert "name that source default in `prometheus`" in err
    assert "name that source prometheus-2 in `prometheus`" in err
    assert not any(value in err for value in ("OrgID=a", "tenant=a"))


def sources(out: str) -> Iterator[Any]:
    for scaler in yaml.safe_load(out)["autoscalers"]:
        yield from (each["external"]["query"].get("prometheus") for each in scaler["metrics"])


@pytest.mark.parametrize(("kind", "found"), [("", [None, "prometheus-2"]), ("Cluster", [None, None])])
def test_credentials_of_one_name_belong_to_their_namespace(kind: str, found: list[Any], tmp_path: Path) -> None:
    """A ClusterTriggerAuthentication is everybody's."""
    trigger = {**keda.prometheus(), "authenticationRef": {"name": "creds", "kind": f"{kind}TriggerAuthentication"}}
    given = [
        keda.scaled_object(trigger) | {"metadata": {"name": name, "namespace": name}} for name in ("shop", "stage")
    ]
    assert [*sources(run(given, tmp_path, "swarm")[1])] == found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"customHeaders": "a=1,b=2"}, {"customHeaders": "b=2, a=1"}),
        ({"unsafeSsl": "false"}, {}),
        ({"serverAddress": "http://a/"}, {"serverAddress": "http://a"}),
        ({"threshold": "1", "activationThreshold": "3"}, {"ignoreNullValues": "true"}),
    ],
)
def test_one_tenant_has_one_source(one: dict[str, str], other: dict[str, str], tmp_path: Path) -> None:
    """Each further source costs a connection."""
    _, out, _ = run(keda.scaled_object(keda.prometheus(**one), keda.prometheus(**other)), tmp_path, "swarm")
    assert [*sources(out)] == [None, None]


def test_the_advice_for_a_paused_object_names_its_autoscaler_and_is_accepted(tmp_path: Path) -> None:
    """An object's autoscaler is renamed if another namespace has one of its name."""
    given = []
    for namespace, replicas in (("shop", "4"), ("stage", "0")):
        annotations = {"autoscaling.keda.sh/paused-replicas": replicas}
        one = keda.scaled_object(annotations=annotations)
        given.append(one | {"metadata": one["metadata"] | {"namespace": namespace}})
    _, _, err = run(given, tmp_path, "swarm")
    advised = re.findall(r"autoscaler ((?:override|pause) [-a-z0-9 ]+)", err)
    assert advised == ["override shop-mail --min 4 --max 4", "pause stage-mail"]
    for command in advised:
        result = CliRunner().invoke(app, [*command.split(), "--server", "http://127.0.0.1:1"])
        assert result.exit_code == 1, result.output  # nothing answers; 2 is a wrong argument


def test_a_refusal_names_the_group(tmp_path: Path) -> None:
    """Not the job, of which the others are imported."""
    groups = [
        {"Name": name, "Scaling": {**nomad.policy(), "Max": most}} for name, most in (("a", 3), ("b", "x"), ("c", 4))
    ]
    code, out, err = run(job(*groups), tmp_path, "nomad")
    assert code == 1
    assert [each["scaleTargetRef"]["name"] for each in yaml.safe_load(out)["autoscalers"]] == ["shop/a", "shop/c"]
    assert "policy shop/b is not imported; correct the problems above" in err
    assert "job" not in err


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("job.hcl", 'job "cache" {\n  group "app" {\n    count = 3\n  }\n}\n'),
        ("job.txt", '# a job\n// of ours\n/* {{ */\n\njob "cache" {\n  type = "service"\n}\n'),
        ("policy.txt", 'scaling "x" {\n  enabled = true\n  min = 1\n}\n'),
        ("job.nomad", 'variable "x" { default = 3 }\njob "cache" {}\n'),
        ("odd.hcl", 'region = "eu"\n'),
    ],
)
def test_a_file_in_hcl_is_named_as_one(name: str, text: str, tmp_path: Path) -> None:
    """YAML reads some of these as one long text."""
    file = tmp_path / name
    file.write_text(text)
    code, out, err = convert(file)
    assert (code, out) == (1, "")
    assert err == f"{file}:1:1: HCL is not read; use `nomad job run -output JOB.hcl | autoscaler import -`\n"


def nulls(value: Any) -> Iterator[Any]:
    """Yield the value with one part of it after another replaced by null."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in list(items):
        for other in (None, *nulls(part)):
            copy = value.copy()
            copy[key] = other
            yield copy


WITH_EVERYTHING: Final[Mapping[str, Any]] = {
    "swarm": [
        list(yaml.safe_load_all(V2))[1],
        yaml.safe_load(V1),
        hpa(metric("external", {"type": "Value", "value": 4}), ownerReferences=[{"kind": "x", "name": "y"}]),
        keda.scaled_object(
            keda.prometheus(metric_type="Value", authModes="basic"),
            keda.cron(),
            {
                "type": "cpu",
                "name": "x",
                "metricType": "Utilization",
                "metadata": {"value": "60", "containerName": "c"},
            },
            annotations={"autoscaling.keda.sh/paused-replicas": "4", "autoscaling.keda.sh/paused": "true"},
            minReplicaCount=2,
            idleReplicaCount=0,
            fallback={"failureThreshold": 3, "replicas": 6, "behavior": "static"},
            advanced={"horizontalPodAutoscalerConfig": {"name": "x", "behavior": keda.BEHAVIOR}},
        ),
    ],
    "nomad": [
        job(
            {
                "Name": "app",
                "Count": 3,
                "Scaling": nomad.policy(
                    nomad.check(group="a", query_window="5m", on_error="fail", schedule=nomad.SCHEDULE),
                    nomad.check("fixed-value", {"value": "3"}, schedule=nomad.SCHEDULE),
                    body={"on_check_error": "fail", "target": [{"nomad": [{"dry-run": True}]}]},
                ),
                "Tasks": [{"Name": "x", "ScalingPolicies": [{"Type": "vertical_cpu"}]}],
            },
            Namespace="prod",
            Region="eu",
        ),
        nomad.policy(),
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("adapter", WITH_EVERYTHING)
def test_a_null_anywhere_gives_a_refusal_or_what_check_accepts(adapter: str, tmp_path: Path) -> None:
    """Never a traceback, and never an autoscaler that cannot be used."""
    for given in WITH_EVERYTHING[adapter]:
        for each in nulls(given):
            code, out, err = run(each, tmp_path, adapter)
            assert "Traceback" not in err
            if out:
                checked(out, tmp_path, adapter)
            else:
                assert code == 1, each
                assert err


def test_a_target_that_is_already_configured_is_not_printed(tmp_path: Path) -> None:
    """The others are: `check` would refuse the whole file."""
    config, manifest = with_two_autoscalers(tmp_path), tmp_path / "hpa.yaml"
    manifest.write_text(f"{V1}---\n{V1.replace('name: api', 'name: team')}")
    code, out, err = convert(manifest, "--adapter", "swarm", "--config.file", str(config))
    assert code == 1
    assert [each["name"] for each in yaml.safe_load(out)["autoscalers"]] == ["api"]
    assert f"team: its target swarm/team is already scaled by of-team in {config}; change that one" in err
