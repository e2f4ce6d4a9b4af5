"""Users of --web.config.file on a real server."""

import asyncio
import threading
from pathlib import Path

import bcrypt
import pytest
import requests

from autoscaler.config.grants import Grant
from autoscaler.config.settings import Operator, Settings, WebSettings
from autoscaler.errors import ConfigError
from autoscaler.web.credentials import Credentials
from autoscaler.web.webconfig import check_operators, load_web_config
from tests.web.operators import ANN, OPERATOR, PASSWORD, PAUSE, USERS, WITH_READER, basic
from tests.web.serving import Daemon, serving


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "web.yaml"


def test_an_operator_reads_and_changes_and_is_recorded(daemon: Daemon, config: Path) -> None:
    """A request cannot name another author."""
    config.write_text(USERS)
    daemon.web = OPERATOR
    with serving(daemon, config) as served:
        served.session.auth = (ANN, PASSWORD)
        assert served.get("/api/v1/autoscalers").status_code == 200
        assert served.post(PAUSE, {"by": "another"}).status_code == 400
        assert served.post(PAUSE).status_code == 200
        document = served.get("/api/v1/openapi.json").json()
    assert document["security"] == [{"basic": []}]
    pause = daemon.state.archive.steering()["web"].pause
    assert pause is not None
    assert pause.by == ANN


@pytest.mark.parametrize(
    "authorization",
    [
        basic(b"ann:wrong"),
        basic(b"bob:correct horse"),
        basic(b"ann"),
        basic(b"ann:" + b"x" * 100),  # bcrypt reads 72 bytes
        basic(b"A" * 6000 + b":"),
        "Basic !!!",
        "Basic /////w==",
        "Bearer abc",
        "",
    ],
)
def test_wrong_credentials_are_refused(daemon: Daemon, config: Path, authorization: str) -> None:
    config.write_text(USERS)
    with serving(daemon, config) as served:
        answer = served.get("/api/v1/autoscalers", headers={"Authorization": authorization})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Basic ")
    assert answer.json()["errorType"] == "unauthorized"


def test_excluded_paths_are_read_without_credentials(
    daemon: Daemon, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A password that comes with such a request is not checked: hashing takes processor time."""
    config.write_text(f"{USERS}auth_excluded_paths: [/-/healthy, /-/reload, /-/resign]\n")
    with serving(daemon, config) as served:
        assert served.get("/-/healthy").status_code == 200
        assert served.get("/-/ready").status_code == 401
        assert served.post("/-/reload").status_code == 401
        assert served.post("/-/resign").status_code == 401
        monkeypatch.setattr(bcrypt, "checkpw", lambda password, known: pytest.fail("it was hashed"))
        assert served.get("/-/healthy", auth=(ANN, "wrong")).status_code == 200


def test_an_unknown_user_takes_as_long_as_the_slowest_known_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the time of an answer would reveal which names exist."""
    checked: list[bytes] = []

    def noting(password: bytes, hashed: bytes) -> bool:
        checked.append(hashed)
        return True

    users = {ANN: bcrypt.hashpw(b"x", bcrypt.gensalt(4)), "eve": bcrypt.gensalt(13) + b"." * 31}
    known = Credentials(users)
    monkeypatch.setattr(bcrypt, "checkpw", noting)
    assert asyncio.run(known.user(basic(b"bob:x"))) is None
    monkeypatch.undo()
    assert [hashed[:7] for hashed in checked] == [b"$2b$13$"]
    assert bcrypt.checkpw(b"x", checked[0].replace(b"$13$", b"$04$")) is False, "bcrypt accepts the hash as valid"


def test_a_reload_replaces_the_users(daemon: Daemon, config: Path) -> None:
    """The password of a removed user is refused at once."""
    config.write_text(USERS)
    with serving(daemon, config) as served:
        served.session.auth = (ANN, PASSWORD)
        assert served.get("/-/healthy").status_code == 200
        config.write_text(USERS.replace(ANN, "bob"))
        served.server.follow(load_web_config(config), served.daemon.web)
        assert served.get("/-/healthy").status_code == 401
        assert served.get("/-/healthy", auth=("bob", PASSWORD)).status_code == 200


def test_a_reload_that_times_out_changes_nothing(daemon: Daemon, config: Path) -> None:
    """In a flood the server's thread may be late. It must not follow a reload that was reported as refused."""
    config.write_text(USERS)
    with serving(daemon, config) as served:
        config.write_text(USERS.replace(ANN, "bob"))
        busy, go_on = threading.Event(), threading.Event()
        served.server._loop.call_soon_threadsafe(busy.set)
        served.server._loop.call_soon_threadsafe(go_on.wait, 60)
        assert busy.wait(60)
        with pytest.raises(ConfigError, match=r"did not follow it within 0\.05 s; reload again"):
            served.server.follow(load_web_config(config), served.daemon.web, seconds=0.05)
        go_on.set()
        assert served.get("/-/healthy", auth=(ANN, PASSWORD)).status_code == 200


def test_a_reload_that_removes_all_users_is_refused(daemon: Daemon, config: Path) -> None:
    config.write_text(USERS)
    with serving(daemon, config) as served:
        config.write_text("")
        with pytest.raises(ConfigError, match="restart the daemon"):
            served.server.follow(load_web_config(config), served.daemon.web)
        assert served.get("/-/healthy").status_code == 401
        assert served.get("/-/healthy", auth=(ANN, PASSWORD)).status_code == 200


def test_logged_in_users_do_not_wait_for_hashes(daemon: Daemon, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that guesses passwords delays other new logins only."""
    config.write_text(USERS)
    go_on = threading.Event()
    check = bcrypt.checkpw

    def slow(password: bytes, known: bytes) -> bool:
        if password == b"guess":
            go_on.wait(60)
        return check(password, known)

    with serving(daemon, config) as served:
        served.session.auth = (ANN, PASSWORD)
        assert served.get("/-/healthy").status_code == 200
        monkeypatch.setattr(bcrypt, "checkpw", slow)
        guess = threading.Thread(target=requests.get, args=(f"{served.server.url}/",), kwargs={"auth": ("x", "guess")})
        guess.start()
        try:
            assert served.get("/-/healthy").status_code == 200
            assert guess.is_alive()
        finally:
            go_on.set()
            guess.join()


def test_a_user_who_is_not_an_operator_only_reads(daemon: Daemon, config: Path) -> None:
    """Many files contain a scraper's password, which must not allow a pause."""
    config.write_text(WITH_READER)
    daemon.web = OPERATOR
    with serving(daemon, config) as served:
        served.session.auth = ("scraper", PASSWORD)
        assert [served.get(path).status_code for path in ("/metrics", "/api/v1/autoscalers/web")] == [200, 200]
        for path in (PAUSE, "/-/reload", "/-/resign", "/api/v1/pause", "/api/v1/resume"):
            answer = served.post(path, {"all": True} if path.startswith("/api/v1/pause") else None)
            assert answer.status_code == 403
            assert "may only read here, because web.operators does not name it" in answer.json()["error"]
        assert served.post(PAUSE, auth=(ANN, PASSWORD)).status_code == 200
        served.server.follow(load_web_config(config), WebSettings(operators=("scraper",)))
        assert served.post(PAUSE).status_code == 200
        assert served.post(PAUSE, auth=(ANN, PASSWORD)).status_code == 403
    assert (daemon.reloads, daemon.resignations) == (0, 0)


def test_an_operator_of_a_grant_changes_its_autoscalers_alone(daemon: Daemon, config: Path) -> None:
    """Another team's, the daemon's configuration, and many at a time stay closed."""
    config.write_text(WITH_READER)
    daemon.web = OPERATOR
    daemon.grants = {"shop": Grant("w", 4, operators=("scraper",)), "pay": Grant("p", 4)}
    daemon.owners = {"web": "shop"}
    bounds = "/api/v1/autoscalers/web/override"
    with serving(daemon, config) as served:
        served.session.auth = ("scraper", PASSWORD)
        assert served.post(PAUSE).status_code == 200
        assert served.post(bounds, {"maximum": 4}).status_code == 200
        assert "hx-post" in served.get("/autoscalers/web").text
        beyond = served.post(bounds, {"maximum": 5})
        assert (beyond.status_code, beyond.json()["error"]) == (
            409,
            "the autoscaler's grant allows at most 4 replicas; give no more, or raise that",
        )
        for path in ("/-/reload", "/-/resign", "/api/v1/pause", "/api/v1/resume", "/api/v1/autoscalers/other/pause"):
            assert served.post(path, {}).status_code == 403
        daemon.owners = {"web": "pay"}
        assert served.post(PAUSE).status_code == 403
        assert "hx-post" not in served.get("/autoscalers/web").text


def test_an_operator_who_cannot_log_in_is_an_error(config: Path) -> None:
    settings = Settings(
        Path("autoscaler.yaml"),
        {},
        {},
        (),
        operators=(Operator(ANN, "web.operators", 3, 9), Operator("an", "web.operators", 3, 14)),
    )
    config.write_text(WITH_READER)
    with pytest.raises(ConfigError) as raised:
        check_operators(load_web_config(config), settings)
    assert str(raised.value) == (
        f"autoscaler.yaml:3:14: web.operators: 'an' cannot log in: {config} has no such user; add it to "
        "basic_auth_users there, or remove it here"
    )
    with pytest.raises(ConfigError, match=r"there is no --web\.config\.file"):
        check_operators(None, settings)


def test_different_pairs_of_name_and_password_are_remembered_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """User `a` with password `b NUL c` is not user `a NUL b` with password `c`."""
    known = Credentials(dict.fromkeys(("a", "a\0b"), bcrypt.gensalt(4) + b"." * 31))
    monkeypatch.setattr(bcrypt, "checkpw", lambda password, hashed: password == b"b\0c")
    assert asyncio.run(known.user(basic(b"a:b\0c"))) == "a"
    monkeypatch.setattr(bcrypt, "checkpw", lambda password, hashed: False)
    assert asyncio.run(known.user(basic(b"a:b\0c"))) == "a"
    assert asyncio.run(known.user(basic(b"a\0b:c"))) is None


def test_users_stay_logged_in_when_a_reload_does_not_change_them(
    daemon: Daemon, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hashing takes a tenth of a second: every user would wait for a new login after a reload during a flood."""
    config.write_text(WITH_READER)
    with serving(daemon, config) as served:
        served.session.auth = (ANN, PASSWORD)
        assert served.get("/-/healthy").status_code == 200
        monkeypatch.setattr(bcrypt, "checkpw", lambda password, known: False)
        served.server.follow(load_web_config(config), OPERATOR)
        assert served.get("/-/healthy").status_code == 200
        assert served.get("/-/healthy", auth=(ANN, "wrong")).status_code == 401
