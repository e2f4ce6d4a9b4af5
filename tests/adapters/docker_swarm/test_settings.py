"""The settings of a connection and the DOCKER_* environment."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from adapters.docker_swarm.settings import Endpoint, Scheme, SwarmSettings, resolve
from autoscaler.errors import AdapterError
from autoscaler.target.http import Tls
from tests.adapters.docker_swarm.build import adapter

TLS_ENVIRONMENT = {"DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": "/certs"}
ENVIRONMENT_TLS = Tls(Path("/certs/ca.pem"), Path("/certs/cert.pem"), Path("/certs/key.pem"))
FILE_TLS = {"caFile": "ca.pem", "certFile": "cert.pem", "keyFile": "key.pem"}


@pytest.mark.parametrize(
    ("section", "environment", "expected"),
    [
        ({}, {}, Endpoint(Scheme.UNIX, "/var/run/docker.sock")),
        ({}, {"DOCKER_HOST": ""}, Endpoint(Scheme.UNIX, "/var/run/docker.sock")),
        ({}, {"DOCKER_HOST": "unix:///run/a.sock"}, Endpoint(Scheme.UNIX, "/run/a.sock")),
        ({"host": "unix:///run/b.sock"}, {"DOCKER_HOST": "tcp://c"}, Endpoint(Scheme.UNIX, "/run/b.sock")),
        ({"host": "tcp://a"}, {}, Endpoint(Scheme.TCP, "a", 2375)),
        ({"host": "tcp://[::1]:99"}, {}, Endpoint(Scheme.TCP, "::1", 99)),
        ({"host": "tcp://a"}, TLS_ENVIRONMENT, Endpoint(Scheme.TCP, "a", 2376, tls=ENVIRONMENT_TLS)),
        ({"host": "tcp://a"}, TLS_ENVIRONMENT | {"DOCKER_TLS_VERIFY": ""}, Endpoint(Scheme.TCP, "a", 2375)),
        ({"host": "unix:///s"}, TLS_ENVIRONMENT, Endpoint(Scheme.UNIX, "/s")),
        ({"host": "ssh://me@a:22022"}, TLS_ENVIRONMENT, Endpoint(Scheme.SSH, "a", 22022, "me")),
        ({"host": "ssh://a"}, {}, Endpoint(Scheme.SSH, "a")),
    ],
)
def test_the_file_goes_before_the_environment_and_both_before_the_default(
    section: dict[str, Any], environment: dict[str, str], expected: Endpoint
) -> None:
    """The order is that of the docker command line."""
    assert resolve(SwarmSettings.model_validate(section), environment) == (expected,)


def test_several_addresses_go_before_the_environments_one() -> None:
    """They keep the file's order; TLS is of those with tcp://."""
    settings = SwarmSettings(addresses=("unix:///s", "tcp://b", "ssh://a"))
    assert resolve(settings, TLS_ENVIRONMENT | {"DOCKER_HOST": "tcp://c"}) == (
        Endpoint(Scheme.UNIX, "/s"),
        Endpoint(Scheme.TCP, "b", 2376, tls=ENVIRONMENT_TLS),
        Endpoint(Scheme.SSH, "a"),
    )


def test_the_files_certificates_go_before_the_environments(tmp_path: Path) -> None:
    """Paths are relative to the configuration file."""
    section = {"host": "tcp://a", "tls": FILE_TLS}
    settings = SwarmSettings.model_validate(section, context={"folder": tmp_path})
    tls = Tls(tmp_path / "ca.pem", tmp_path / "cert.pem", tmp_path / "key.pem")
    assert resolve(settings, TLS_ENVIRONMENT) == (Endpoint(Scheme.TCP, "a", 2376, tls=tls),)


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"host": "a:2375"}, "is not a valid engine address; write unix:///var/run/docker.sock, tcp"),
        ({"host": "tcp://"}, "is not a valid engine address"),
        ({"host": "tcp://a:port"}, "is not a valid engine address"),
        ({"host": "tcp://a/path"}, "is not a valid engine address"),
        ({"host": "tcp://me@a"}, "is not a valid engine address"),
        ({"host": "ssh://-oProxyCommand=x"}, "is not a valid engine address"),
        ({"host": "unix://docker.sock"}, "no absolute path"),
        ({"host": "fd://"}, "is not a valid engine address"),
        ({"host": "unix:///s", "tls": {}}, "tls is only for a tcp:// host"),
        ({"addresses": ["unix:///s", "ssh://a"], "tls": {}}, "tls is only for a tcp:// host"),
        ({"host": "tcp://a", "addresses": ["tcp://b"]}, "keep one of them"),
        ({"addresses": []}, "at least 1"),
        ({"addresses": ["tcp://a", "b"]}, "is not a valid engine address"),
        ({"host": "tcp://a", "tls": {"certFile": "c"}}, "certFile and keyFile go together"),
        ({"hosts": "tcp://a"}, "Extra inputs"),
    ],
)
def test_settings_that_cannot_work_are_refused_offline(section: dict[str, Any], message: str) -> None:
    """`check` reports it before a daemon starts."""
    with pytest.raises(ValidationError, match=message):
        SwarmSettings.model_validate(section)


def test_a_password_in_host_is_refused_and_not_repeated() -> None:
    """It would be in the file and in every message."""
    with pytest.raises(ValidationError, match="a password in host") as caught:
        SwarmSettings.model_validate({"host": "ssh://me:hunter2@a"})
    assert "hunter2" not in caught.value.errors()[0]["msg"]


def test_a_secret_file_that_is_absent_stops_the_start(tmp_path: Path) -> None:
    """The start fails with the file's name, not every cycle."""
    with pytest.raises(AdapterError, match=r"adapter test: .*ca\.pem cannot be read"):
        adapter(tmp_path, host="tcp://a", tls={"caFile": str(tmp_path / "ca.pem")})


def test_a_wrong_docker_host_names_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says where the value comes from."""
    monkeypatch.setenv("DOCKER_HOST", "fd://")
    with pytest.raises(AdapterError, match="DOCKER_HOST: 'fd://' is not a valid engine address"):
        adapter(tmp_path)
