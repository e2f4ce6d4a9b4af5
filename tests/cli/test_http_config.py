"""`--http.config.file` with real servers that require users and TLS."""

from collections.abc import Iterator
from pathlib import Path

import bcrypt
import pytest

from autoscaler.config.settings import WebSettings
from tests.cli.scene import Scene, build
from tests.servers.certificates import Authority
from tests.servers.web import Answer, Request, answering
from tests.view.lives import open_state
from tests.web.serving import serving

PASSWORD = "cörrect horse"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("http")


@pytest.fixture(scope="module")
def authority(folder: Path) -> Authority:
    return Authority(folder)


@pytest.fixture(scope="module")
def secure(folder: Path, authority: Authority) -> Iterator[Scene]:
    """A daemon that requires TLS, a client certificate, and a name with its password."""
    pair = authority.sign("server", "autoscaler.test")
    config = folder / "web.yaml"
    hashed = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
    config.write_text(f"""\
tls_server_config:
  cert_file: {pair.cert}
  key_file: {pair.key}
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: {authority.ca}
basic_auth_users: {{ann: "{hashed}"}}
""")
    with open_state(folder / "state") as state:
        scene = build(folder / "state", state)
        scene.daemon.web = WebSettings(operators=("ann",))
        with serving(scene.daemon, config) as served:
            scene.env["AUTOSCALER_SERVER"] = served.server.url
            yield scene


@pytest.fixture(scope="module")
def tls(authority: Authority) -> str:
    client = authority.sign("client", "ann")
    return f"""\
tls_config:
  ca_file: {authority.ca.name}
  cert_file: {client.cert.name}
  key_file: {client.key.name}
  server_name: autoscaler.test
"""


def write(folder: Path, text: str) -> str:
    file = folder / "http.yaml"
    file.write_text(text)
    return str(file)


def test_name_password_and_certificates_are_sent(secure: Scene, folder: Path, tls: str) -> None:
    """Paths are relative to the file. The daemon records a change under that name."""
    (folder / "password").write_text(f"{PASSWORD}\n")
    file = write(folder, f"{tls}basic_auth: {{username: ann, password_file: password}}\n")
    said = secure.run("get", "web", "--http.config.file", file)
    assert (said.code, said.err) == (0, "")
    assert secure.run("pause", "web", "--http.config.file", file).code == 0
    pause = secure.state.archive.steering()["web"].pause
    assert pause is not None
    assert pause.by == "ann"


def test_a_wrong_password_is_reported_with_the_remedy(secure: Scene, folder: Path, tls: str) -> None:
    """The message does not contain the password."""
    file = write(folder, f"{tls}basic_auth: {{username: ann, password: wrong}}\n")
    said = secure.run("get", "--http.config.file", file)
    assert said.code == 1
    assert "name or password is missing or wrong" in said.err
    assert "--http.config.file" in said.err
    assert "'wrong'" not in said.err


def test_an_unknown_certificate_authority_is_reported_with_the_remedy(secure: Scene) -> None:
    said = secure.run("get")
    assert said.code == 1
    assert "cannot be trusted" in said.err
    assert "tls_config.ca_file" in said.err


def test_a_bearer_token_is_sent(offline: Scene, tmp_path: Path) -> None:
    """It is for a proxy before the daemon; the daemon itself accepts names only."""
    (tmp_path / "token").write_text("t0ken\n")
    file, sent = write(tmp_path, "authorization: {credentials_file: token}\n"), list[str | None]()

    def answer(request: Request) -> Answer:
        sent.append(request.headers["Authorization"])
        return Answer(401, {})

    with answering(answer) as url:
        offline.run("get", "--server", url, "--http.config.file", file)
    assert sent == ["Bearer t0ken"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("basic_auht: {username: a}", ":1:1: basic_auht: unknown key; did you mean `basic_auth`?"),
        ("basic_auth: {user: a}", ":1:14: basic_auth.user: unknown key"),
        ("basic_auth: {password: a}", "expected one of username and username_file; write one of them"),
        ("basic_auth: {username: a, password: b, password_file: c}", "password and password_file are both given"),
        ("basic_auth: {username: a, password: 12345}", "basic_auth.password: expected a text, found a number"),
        ("basic_auth: {username: a}\nauthorization: {credentials: b}", "authorization and basic_auth are both given"),
        ("authorization: {}", "expected one of credentials and credentials_file"),
        ("authorization: {type: Basic, credentials: x}", "write basic_auth"),
        ("tls_config: {cert_file: a}", "cert_file and key_file go together"),
        ("oauth2: {client_id: a}", ":1:1: oauth2: unknown key; known: authorization, basic_auth, tls_config"),
        ("tls_config: {min_version: TLS12}", ":1:14: tls_config.min_version: unknown key; known: ca_file"),
        ("- basic_auth", "the file is not a mapping"),
        ("basic_auth: [", "http.yaml:"),
    ],
)
def test_each_error_has_its_position_and_remedy(offline: Scene, tmp_path: Path, text: str, told: str) -> None:
    """A secret under a wrong key is not shown."""
    said = offline.run("get", "--http.config.file", write(tmp_path, text + "\n"))
    assert (said.code, said.out) == (1, "")
    assert told in said.err
    assert "12345" not in said.err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("basic_auth: {username: a, password_file: absent}", "/absent cannot be read: No such file or directory"),
        ('authorization: {credentials: "a\\nb"}', "a secret holds more than one line"),
        ("tls_config: {ca_file: absent}", "tls_config's files cannot be loaded: No such file or directory"),
    ],
)
def test_unusable_secrets_are_reported_before_any_request(offline: Scene, tmp_path: Path, text: str, told: str) -> None:
    said = offline.run("get", "--server", "https://localhost:1", "--http.config.file", write(tmp_path, text))
    assert said.code == 1
    assert told in said.err


def test_an_empty_file_changes_nothing(online: Scene, tmp_path: Path) -> None:
    """Promtool accepts one, too."""
    assert online.run("get", "--http.config.file", write(tmp_path, "")).code == 0
