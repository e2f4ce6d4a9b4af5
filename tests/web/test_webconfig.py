"""`--web.config.file`, in the format of Prometheus' exporter-toolkit."""

from pathlib import Path

import bcrypt
import pytest
from cryptography.hazmat.primitives import serialization

from autoscaler.errors import ConfigError
from autoscaler.web.webconfig import load_web_config
from tests.servers.certificates import Authority

HASH = bcrypt.hashpw(b"secret", bcrypt.gensalt(4)).decode()


def written(folder: Path, text: str) -> Path:
    file = folder / "web.yaml"
    file.write_text(text)
    return file


def test_the_example_of_the_toolkit_s_documentation_is_read(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        "basic_auth_users:\n"
        "  alice: $2y$10$mDwo.lAisC94iLAyP81MCesa29IzH37oigHC/42V2pdJlUprsJPze\n"
        "  bob: $2y$10$hLqFl9jSjoAAy95Z/zw8Ye8wkdMBM8c5Bn1ptYqP/AXyV0.oy0S8m\n",
    )
    assert list(load_web_config(file).users) == ["alice", "bob"]


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    Authority(tmp_path).sign("server", "localhost")
    file = written(tmp_path, "tls_server_config: {cert_file: server.pem, key_file: server.key}")
    config = load_web_config(file)
    assert config.tls is not None
    assert config.tls.cert_file == str(tmp_path / "server.pem")


def test_headers_may_be_set(tmp_path: Path) -> None:
    file = written(tmp_path, "http_server_config: {http2: false, headers: {X-Frame-Options: sameorigin}}")
    assert load_web_config(file).http.headers == {"X-Frame-Options": "sameorigin"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("basic_auth_user: {}", "web.yaml:1:1: basic_auth_user: unknown key; did you mean `basic_auth_users`?"),
        ("tls_server_config: {cert_file: a}", "tls_server_config.key_file: is missing; it has no default"),
        ("tls_server_config: {cert_file: a, key_file: b, ca: c}", "tls_server_config.ca: unknown key"),
        ("tls_server_config: {cert_file: a, key_file: b}", "the certificates cannot be loaded: No such file"),
        ("tls_server_config: {cert_file: a, key_file: b, cert: c}", "tls_server_config.cert: unknown key"),
        ("tls_server_config: {cert_file: a, key_file: b, min_version: TLS10}", "write 'TLS12' or 'TLS13'"),
        ("tls_server_config: {cert_file: a, key_file: b, min_version: TLS13, max_version: TLS12}", "is below min"),
        (
            "tls_server_config: {cert_file: a, key_file: b, client_auth_type: RequireAnyClientCert}",
            "'RequireAnyClientCert' is not",
        ),
        ("tls_server_config: {cert_file: a, key_file: b, client_auth_type: Yes}", "write 'NoClientCert'"),
        (
            "tls_server_config: {cert_file: a, key_file: b, client_auth_type: RequireAndVerifyClientCert}",
            "client_ca_file: ",
        ),
        ("tls_server_config: {cert_file: a, key_file: b, client_ca_file: c}", "has no effect without client_auth_type"),
        ("http_server_config: {http2: true}", "http_server_config.http2"),
        ("http_server_config: {headers: {X-Own: a}}", "X-Own"),
        ('http_server_config: {headers: {X-Frame-Options: "a\\nb"}}', "X-Frame-Options"),
        ("basic_auth_users: {ann: [x]}", "expected a text, found a list"),
        ("- a", "the file is not a mapping"),
        ("a: [", "web.yaml:"),
    ],
)  # fmt: skip - a line for each mistake
def test_an_error_names_its_place_and_remedy(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load_web_config(written(tmp_path, text))
    assert message in str(raised.value)


def test_a_plain_password_is_refused_and_not_shown(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not a valid bcrypt hash") as raised:
        load_web_config(written(tmp_path, "basic_auth_users: {ann: hunter2}"))
    assert "hunter2" not in str(raised.value)


def test_a_key_with_a_password_is_refused(tmp_path: Path) -> None:
    """OpenSSL would ask for the password on the terminal, and a service would wait there for ever."""
    pair = Authority(tmp_path).sign("server", "localhost")
    key = serialization.load_pem_private_key(pair.key.read_bytes(), None)
    locked = serialization.BestAvailableEncryption(b"secret")
    pair.key.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, locked))
    with pytest.raises(ConfigError, match="the certificates cannot be loaded"):
        load_web_config(written(tmp_path, "tls_server_config: {cert_file: server.pem, key_file: server.key}"))


def test_all_mistakes_are_reported_together(tmp_path: Path) -> None:
    text = "basic_auth_users: {ann: x}\ntls_server_config: {cert: y}\nmore: z\n"
    with pytest.raises(ConfigError) as raised:
        load_web_config(written(tmp_path, text))
    assert len(raised.value.problems) == 5


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_web_config(tmp_path / "missing.yaml")
