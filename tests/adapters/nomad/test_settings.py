"""The settings of a connection, offline."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from adapters.nomad import Nomad
from adapters.nomad.settings import NomadSettings, resolve
from autoscaler.errors import AdapterError
from autoscaler.model import TargetRef

_ENVIRONMENT = {
    "NOMAD_ADDR": "https://env.example:4646/",
    "NOMAD_REGION": "env-region",
    "NOMAD_NAMESPACE": "env-namespace",
    "NOMAD_TOKEN": "env-token",
    "NOMAD_TLS_SERVER_NAME": "env.name",
    "NOMAD_SKIP_VERIFY": "true",
}


def _settings(**keys: Any) -> NomadSettings:
    return NomadSettings.model_validate(keys)


def test_the_defaults_are_nomads_own() -> None:
    """An agent on this machine, without ACL."""
    connection = resolve(_settings(), {})
    assert connection.addresses == ("http://127.0.0.1:4646",)
    assert (connection.region, connection.namespace) == (None, "default")
    assert connection.read_token() is None
    assert not connection.tls.insecure_skip_verify


def test_the_environment_fills_the_gaps() -> None:
    """The variables mean what they mean to the `nomad` command."""
    connection = resolve(_settings(), _ENVIRONMENT)
    assert connection.addresses == ("https://env.example:4646",)
    assert (connection.region, connection.namespace) == ("env-region", "env-namespace")
    assert connection.read_token() == "env-token"
    assert connection.tls.server_name == "env.name"
    assert connection.tls.insecure_skip_verify


def test_the_file_takes_precedence_over_the_environment(tmp_path: Path) -> None:
    """The settings must not depend on the user who starts the daemon."""
    (tmp_path / "token").write_text("file-token\n")
    settings = _settings(
        address="http://file.example:4646",
        region="file-region",
        namespace="file-namespace",
        tokenFile=str(tmp_path / "token"),
        tls={"serverName": "file.name", "insecureSkipVerify": False},
    )
    connection = resolve(settings, _ENVIRONMENT)
    assert connection.addresses == ("http://file.example:4646",)
    assert (connection.region, connection.namespace) == ("file-region", "file-namespace")
    assert connection.read_token() == "file-token"
    assert connection.tls.server_name == "file.name"
    assert not connection.tls.insecure_skip_verify


def test_several_addresses_go_before_the_environments_one() -> None:
    """They keep the file's order."""
    settings = _settings(addresses=["http://b.example:4646/", "http://a.example:4646"])
    assert resolve(settings, _ENVIRONMENT).addresses == ("http://b.example:4646", "http://a.example:4646")


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"address": "nomad.example:4646"}, "write it as http://127.0.0.1:4646"),
        ({"address": "unix:///run/nomad.sock"}, "write it as http://127.0.0.1:4646"),
        ({"address": "http://[nomad"}, "address"),
        ({"address": "http://nomad.example:http"}, "Port"),
        ({"address": "http://nomad.example:0"}, "port"),
        ({"address": "http://nomad.example/?region=a"}, "write it as http://127.0.0.1:4646"),
        ({"address": "http://me:secret@nomad.example"}, "use tokenFile"),
        ({"address": "http://a", "addresses": ["http://b"]}, "keep one of them"),
        ({"addresses": []}, "at least 1"),
        ({"addresses": ["http://a", "b"]}, "write it as http://127.0.0.1:4646"),
        ({"namespace": "*"}, "is not a single namespace"),
        ({"tls": {"certFile": "cert.pem"}}, "go together"),
        ({"adress": "http://a"}, "adress"),
    ],
)
def test_bad_settings_are_refused_with_a_remedy(keys: dict[str, Any], said: str) -> None:
    """`check` finds them without a server."""
    with pytest.raises(ValidationError) as caught:
        _settings(**keys)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("NOMAD_ADDR", "nomad.example", "NOMAD_"),
        ("NOMAD_SKIP_VERIFY", "maybe", "NOMAD_SKIP_VERIFY"),
        ("NOMAD_NAMESPACE", "*", "NOMAD_NAMESPACE"),
        ("NOMAD_CACERT", "/nowhere/ca.pem", "/nowhere/ca.pem"),
        ("NOMAD_CLIENT_CERT", __file__, "go together"),
    ],
)
def test_a_bad_environment_is_an_adapter_error(variable: str, value: str, said: str) -> None:
    """The daemon does not start; the message names the variable."""
    with pytest.raises(AdapterError, match=said):
        resolve(_settings(), {variable: value})


def test_an_absent_token_file_is_an_adapter_error(tmp_path: Path) -> None:
    """It fails at the start, not at the first scale-out."""
    with pytest.raises(AdapterError, match=r"token cannot be read; put it there"):
        resolve(_settings(tokenFile=str(tmp_path / "token")), {})


def test_all_namespaces_are_no_namespace() -> None:
    """A target is in one namespace."""
    problem = Nomad.target_problem(TargetRef("nomad", "web/front", namespace="*"), _settings())
    assert problem is not None
    assert "namespace" in problem


@pytest.mark.parametrize(
    ("section", "environment", "namespace", "region"),
    [
        ({}, {}, "default", "global"),
        ({}, {"NOMAD_NAMESPACE": "ops", "NOMAD_REGION": "eu"}, "ops", "eu"),
        ({"namespace": "prod", "region": "us"}, {"NOMAD_NAMESPACE": "ops", "NOMAD_REGION": "eu"}, "prod", "us"),
    ],
)
def test_a_target_has_one_name_for_the_search_of_doubles(
    monkeypatch: pytest.MonkeyPatch,
    section: dict[str, str],
    environment: dict[str, str],
    namespace: str,
    region: str,
) -> None:
    """Two autoscalers of one group would overwrite each other's sizes, whatever names they use."""
    for variable in ("NOMAD_NAMESPACE", "NOMAD_REGION"):
        monkeypatch.delenv(variable, raising=False)
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    written = TargetRef("nomad", "web/front", namespace, region)
    short = TargetRef("nomad", "web/front")
    assert Nomad.canonical(short, _settings(**section)) == Nomad.canonical(written, _settings(**section)) == written
    other = TargetRef("nomad", "web/front", "elsewhere", region)
    assert Nomad.canonical(other, _settings(**section)) == other
