"""Users, against a real server."""

import base64
import threading
import time
from pathlib import Path

import bcrypt
import pytest
import requests

from autoscaler.config.settings import Settings, WebSettings
from autoscaler.errors import ConfigError
from autoscaler.web import check_operators, load_web_config
from autoscaler.web.credentials import Credentials
from tests.documents.lives import At
from tests.web.serving import Daemon, serving

PAUSE = "/api/v1/autoscalers/web/pause"
ANN, PASSWORD = "ann", "correct horse"
OPERATOR = WebSettings(operators=(ANN,))
USERS = f"basic_auth_users:\n  {ANN}: {bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()}\n"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "web.yaml"


def test_without_credentials_nothing_is_answered(daemon: Daemon, config: Path) -> None:
    config.write_text(USERS)
    with serving(daemon, config) as served:
        for path in ("/api/v1/autoscalers", "/metrics", "/-/healthy", "/api/v1/openapi.json"):
            answer = served.get(path)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"].startswith("Basic ")
            assert answer.json()["errorType"] == "unauthorized"
        assert served.post(PAUSE).status_code == 401


def test_with_credentials_all_is_answered(daemon: Daemon, config: Path) -> None:
    config.write_text(USERS)
    daemon.web = OPERATOR
    with serving(daemon, config) as served:
        served.session.auth = (ANN, PASSWORD)
        assert served.get("/api/v1/autoscalers").status_code == 200
        assert served.post(PAUSE).status_code == 200
        document = served.get("/api/v1/openapi.json").json()
    assert document["security"] == [{"basic": []}]


def test_the_user_who_has_logged_in_is_recorded(daemon: Daemon, config: Path) -> None:
    config.write_text(USERS)
    daemon.web = OPERATOR
    with serving(daemon, config) as served:
        served.session.auth = (ANN, PASSWORD)
        assert served.post(PAUSE, {"by": "somebody else"}).status_code == 400
        assert served.post(PAUSE).status_code == 200
    pause = daemon.state.archive.steering()["web"].pause
    assert pause is not None
    assert pause.by == ANN


@pytest.mark.parametrize(
    "authorization",
    [
        "Basic YW5uOndyb25n",  # ann:wrong
        "Basic Ym9iOmNvcnJlY3QgaG9yc2U=",  # bob:correct horse
        "Basic YW5u",  # ann, no colon
        "Basic !!!",
        "Basic /////w==",
        "Basic " + "QUFB" * 2000 + "Og==",
        "Bearer abc",
        "",
    ],
)
def test_wrong_credentials_are_refused(daemon: Daemon, config: Path, authorization: str) -> None:
    config.write_text(USERS)
    with serving(daemon, config) as served:
        answer = served.get("/api/v1/autoscalers", headers={"Authorization": authorization})
    assert answer.status_code == 401


def test_a_password_longer_than_bcrypt_reads_is_refused(daemon: Daemon, config: Path) -> None:
    config.write_text(USERS)
    with serving(daemon, config) as served:
        assert served.get("/-/healthy", auth=(ANN, "x" * 100)).status_code == 401


def test_credentials_do_not_lift_the_refusal_of_other_sites(daemon: Daemon, config: Path) -> None:
    """A browser sends them along with what a stranger's page asks for."""
    config.write_text(USERS)
    daemon.web = OPERATOR
    with serving(daemon, config) as served:
        answer = served.post(PAUSE, auth=(ANN, PASSWORD), headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 403


def test_excluded_paths_are_read_without_credentials(daemon: Daemon, config: Path) -> None:
    config.write_text(f"{USERS}auth_excluded_paths: [/-/healthy, /-/reload]\n")
    with serving(daemon, config) as served:
        assert served.get("/-/healthy").status_code == 200
        assert served.get("/-/ready").status_code == 401
        assert served.post("/-/reload").status_code == 401


def test_a_password_that_was_right_is_not_hashed_again_for_a_while(
    daemon: Daemon, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bcrypt takes a tenth of a second of processor time; Prometheus scrapes all day."""
    hashed: list[bytes] = []
    check = bcrypt.checkpw

    def counting(password: bytes, known: bytes) -> bool:
        hashed.append(password)
        return check(password, known)

    config.write_text(USERS)
    with serving(daemon, config) as served:
        monkeypatch.setattr(bcrypt, "checkpw", counting)
        served.session.auth = (ANN, PASSWORD)
        for _ in range(3):
            assert served.get("/-/healthy").status_code == 200
        assert len(hashed) == 1
        daemon.clock.seconds += 599
        assert served.get("/-/healthy").status_code == 200
        assert len(hashed) == 1, "it counts from the last use"
        daemon.clock.seconds += 601
        assert served.get("/-/healthy").status_code == 200
        assert len(hashed) == 2
        assert served.get("/-/healthy", auth=(ANN, "wrong")).status_code == 401


def test_an_unknown_user_takes_as_long_as_the_dearest_known_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise names could be found out by the time it takes."""
    checked: list[bytes] = []

    def noting(password: bytes, hashed: bytes) -> bool:
        checked.append(hashed)
        return True

    users = {ANN: bcrypt.hashpw(b"x", bcrypt.gensalt(4)), "eve": bcrypt.gensalt(13) + b"." * 31}
    known = Credentials(users, At())
    monkeypatch.setattr(bcrypt, "checkpw", noting)
    assert known.check("Basic Ym9iOng=") is None
    assert [hashed[:7] for hashed in checked] == [b"$2b$13$"]


def test_the_hash_for_nobody_is_one() -> None:
    """If bcrypt refused it, an unknown user would be answered at once."""
    assert Credentials({}, At())._nobody.startswith(b"$2b$10$")
    assert bcrypt.checkpw(b"x", Credentials({ANN: bcrypt.gensalt(4)}, At())._nobody) is False


def test_users_change_with_a_reload(daemon: Daemon, config: Path) -> None:
    """Somebody has left: their password must not be good for another minute."""
    config.write_text(USERS)
    with serving(daemon, config) as served:
        served.session.auth = (ANN, PASSWORD)
        assert served.get("/-/healthy").status_code == 200
        config.write_text(USERS.replace(ANN, "bob"))
        served.server.follow(load_web_config(config), served.daemon.web)
        assert served.get("/-/healthy").status_code == 401
        assert served.get("/-/healthy", auth=("bob", PASSWORD)).status_code == 200


def test_a_reload_that_the_server_has_no_time_for_changes_nothing(daemon: Daemon, config: Path) -> None:
    """In a flood its thread may be late; half of a reload, some time after it was refused, would be worse than none."""
    config.write_text(USERS)
    with serving(daemon, config) as served:
        config.write_text(USERS.replace(ANN, "bob"))
        held, go_on = threading.Event(), threading.Event()
        served.server._loop.call_soon_threadsafe(held.set)
        served.server._loop.call_soon_threadsafe(go_on.wait, 20)
        assert held.wait(20)
        with pytest.raises(ConfigError, match=r"did not follow it within 0\.05 s; reload again"):
            served.server.follow(load_web_config(config), served.daemon.web, seconds=0.05)
        go_on.set()
        assert served.get("/-/healthy", auth=(ANN, PASSWORD)).status_code == 200


def test_what_a_reload_cannot_follow_changes_nothing(daemon: Daemon, config: Path) -> None:
    config.write_text(USERS)
    with serving(daemon, config) as served:
        config.write_text("")
        with pytest.raises(ConfigError, match="restart the daemon"):
            served.server.follow(load_web_config(config), served.daemon.web)
        assert served.get("/-/healthy").status_code == 401
        assert served.get("/-/healthy", auth=(ANN, PASSWORD)).status_code == 200


def test_a_slow_hash_holds_up_nobody_else(daemon: Daemon, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody guesses passwords: those who are known go on."""
    config.write_text(USERS)
    go_on = threading.Event()
    check = bcrypt.checkpw

    def slow(password: bytes, known: bytes) -> bool:
        if password == b"guess":
            go_on.wait(20)
        return check(password, known)

    with serving(daemon, config) as served:
        served.session.auth = (ANN, PASSWORD)
        assert served.get("/-/healthy").status_code == 200
        monkeypatch.setattr(bcrypt, "checkpw", slow)
        guess = threading.Thread(target=requests.get, args=(f"{served.server.url}/",), kwargs={"auth": ("x", "guess")})
        guess.start()
        try:
            began = time.monotonic()
            assert served.get("/-/healthy").status_code == 200
            assert time.monotonic() - began < 15
        finally:
            go_on.set()
            guess.join()


READER = "basic_auth_users:\n" + "".join(
    f"  {name}: {bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()}\n" for name in (ANN, "scraper")
)


def test_a_user_who_is_no_operator_only_reads(daemon: Daemon, config: Path) -> None:
    """A scraper's password stands in many a file, and must not pause anything."""
    config.write_text(READER)
    daemon.web = OPERATOR
    with serving(daemon, config) as served:
        served.session.auth = ("scraper", PASSWORD)
        assert [served.get(path).status_code for path in ("/metrics", "/api/v1/autoscalers/web")] == [200, 200]
        for path in (PAUSE, "/-/reload", "/api/v1/pause", "/api/v1/resume"):
            answer = served.post(path, {"all": True} if path.startswith("/api/v1/pause") else None)
            assert answer.status_code == 403
            assert "may only read: web.operators does not name it" in answer.json()["error"]
        assert served.post(PAUSE, auth=(ANN, PASSWORD)).status_code == 200
        served.server.follow(load_web_config(config), WebSettings(operators=("scraper",)))
        assert served.post(PAUSE).status_code == 200
        assert served.post(PAUSE, auth=(ANN, PASSWORD)).status_code == 403
    assert daemon.reloads == 0


def test_a_reader_sees_why_there_are_no_forms(daemon: Daemon, config: Path) -> None:
    """What only ends in a refusal is not offered."""
    config.write_text(READER)
    daemon.web = OPERATOR
    with serving(daemon, config) as served:
        of_reader = served.get("/autoscalers/web", auth=("scraper", PASSWORD)).text
        of_ann = served.get("/autoscalers/web", auth=(ANN, PASSWORD)).text
    assert "Read-only: the user &#39;scraper&#39; may only read" in of_reader
    assert "data-action" not in of_reader
    assert "data-action" in of_ann


def test_an_operator_who_cannot_log_in_is_a_mistake(config: Path) -> None:
    settings = Settings(
        Path("autoscaler.yaml"), {}, {}, (), web=WebSettings(operators=(ANN, "an")), operator_places=((3, 9), (3, 14))
    )
    config.write_text(READER)
    with pytest.raises(ConfigError) as raised:
        check_operators(load_web_config(config), settings)
    assert str(raised.value) == (
        f"autoscaler.yaml:3:14: web.operators: 'an' cannot log in: {config} has no such user; add it to "
        "basic_auth_users there, or remove it here"
    )
    with pytest.raises(ConfigError, match=r"there is no --web\.config\.file"):
        check_operators(None, settings)


def test_no_two_pairs_of_name_and_password_count_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was found right is kept for minutes: `a` with a password of NUL and b is not `a`, NUL with b."""
    known = Credentials(dict.fromkeys(("a", "a\0b"), bcrypt.gensalt(4) + b"." * 31), At())
    monkeypatch.setattr(bcrypt, "checkpw", lambda password, hashed: password == b"b\0c")

    def header(given: bytes) -> str:
        return "Basic " + base64.b64encode(given).decode()

    assert known.check(header(b"a:b\0c")) == "a"
    assert known.remembered(header(b"a:b\0c")) == "a"
    assert known.remembered(header(b"a\0b:c")) is None


def test_requests_are_limited_as_the_toolkit_does(daemon: Daemon, config: Path) -> None:
    """`rate_limit`: a token bucket for all requests, followed by a reload."""
    config.write_text("rate_limit: {interval: 1m, burst: 3}\n")
    with serving(daemon, config) as served:
        assert [served.get("/-/healthy").status_code for _ in range(5)] == [200, 200, 200, 429, 429]
        answer = served.get("/metrics")
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
        assert answer.json()["errorType"] == "too_many_requests"
        daemon.clock.seconds += 60
        assert [served.get("/-/healthy").status_code for _ in range(2)] == [200, 429]
        config.write_text("")
        served.server.follow(load_web_config(config), served.daemon.web)
        assert served.get("/-/healthy").status_code == 200


def test_a_reload_that_changes_no_user_logs_nobody_out(
    daemon: Daemon, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else every reload in the midst of a flood would have them wait for their turn."""
    config.write_text(READER)
    with serving(daemon, config) as served:
        served.session.auth = (ANN, PASSWORD)
        assert served.get("/-/healthy").status_code == 200
        monkeypatch.setattr(bcrypt, "checkpw", lambda password, known: False)
        served.server.follow(load_web_config(config), OPERATOR)
        assert served.get("/-/healthy").status_code == 200


def test_an_excluded_path_hashes_nothing(daemon: Daemon, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever password comes with it: it is answered anyway."""
    config.write_text(f"{USERS}auth_excluded_paths: [/-/healthy]\n")
    hashed: list[bytes] = []
    monkeypatch.setattr(bcrypt, "checkpw", lambda password, known: hashed.append(password))
    with serving(daemon, config) as served:
        assert served.get("/-/healthy", auth=(ANN, "wrong")).status_code == 200
    assert hashed == []
