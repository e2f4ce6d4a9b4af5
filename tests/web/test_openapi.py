"""The OpenAPI document describes what the server does."""

import inspect
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from bcrypt import gensalt, hashpw

from autoscaler.config.settings import WebSettings
from autoscaler.described import DescribedSchema, _module_docstrings
from autoscaler.view.summary import AutoscalerList
from tests.web.serving import Daemon, Served, serving


@pytest.fixture
def document(served: Served) -> dict[str, Any]:
    found: dict[str, Any] = served.get("/api/v1/openapi.json").json()
    return found


def test_every_path_is_served(served: Served, document: dict[str, Any]) -> None:
    for path, operations in document["paths"].items():
        for method in operations:
            answer = served.control.request(method, "http://localhost" + path.replace("{name}", "web"), timeout=10)
            assert answer.status_code in (200, 409), (method, path, answer.text)


def test_every_operation_and_parameter_is_described(document: dict[str, Any]) -> None:
    """Editors and generated clients show the descriptions."""
    for path, operations in document["paths"].items():
        for operation in operations.values():
            assert operation["summary"].endswith(".")
            assert all(parameter["description"] for parameter in operation["parameters"]), path


def test_a_url_s_parameter_has_the_schema_of_a_given_value(document: dict[str, Any]) -> None:
    """One that is left out is not null. Its name and description are beside the schema."""
    for path, operations in document["paths"].items():
        for each in [each for operation in operations.values() for each in operation["parameters"]]:
            assert each["schema"].keys().isdisjoint({"title", "description"}), (path, each)
            assert "null" not in json.dumps(each["schema"]), (path, each)


def test_no_module_is_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Docstrings describe the fields. To read the module of each class for that once took two seconds."""
    read, source_of = list[str](), inspect.getsource

    def reading(module: ModuleType) -> str:
        read.append(module.__name__)
        return source_of(module)

    monkeypatch.setattr(inspect, "getsource", reading)
    _module_docstrings.cache_clear()
    schemas = AutoscalerList.model_json_schema(schema_generator=DescribedSchema)["$defs"]
    assert schemas["Summary"]["properties"]["ready"]["description"].startswith("How many of these run")
    assert len(read) == len(set(read)) > 3


@pytest.mark.slow
def test_schemathesis_finds_no_error(daemon: Daemon, tmp_path: Path) -> None:
    """It sends valid and invalid input to every operation, as an operator, and makes every check of the answers."""
    config = tmp_path / "web.yaml"
    config.write_text(f"basic_auth_users:\n  ann: {hashpw(b'word', gensalt(4)).decode()}\n")
    daemon.web = WebSettings(operators=("ann",))
    with serving(daemon, config) as served:
        served.session.auth = ("ann", "word")
        _explore(served, tmp_path)


def _explore(served: Served, folder: Path) -> None:
    """Names in paths are the known one and any others."""
    document = served.get("/api/v1/openapi.json").json()
    for operations in document["paths"].values():
        for operation in operations.values():
            for parameter in operation["parameters"]:
                if parameter["in"] == "path":
                    parameter["schema"] = {"anyOf": [{"const": "web"}, parameter["schema"]]}
    described = folder / "openapi.json"
    described.write_text(json.dumps(document))
    ran = subprocess.run(
        [
            *(Path(sys.executable).with_name("st"), "run", described, "--url", served.server.url),
            *("--auth", "ann:word", "--checks", "all", "--max-examples", "10", "--seed", "1"),
            *("--no-color", "--max-failures", "5"),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-8000:]
