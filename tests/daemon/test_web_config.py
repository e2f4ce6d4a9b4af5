"""The daemon reads the HTTP server's configuration first at the start, and with every reload."""

import signal
from pathlib import Path

import bcrypt
import pytest
import requests

from tests.daemon.running import autoscaler, run_to_its_end, running_daemon, workers, write_config

pytestmark = pytest.mark.slow

PASSWORD = "correct horse"
PAUSE = "/api/v1/autoscalers/web/pause"


def users(*names: str) -> str:
    hashed = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
    return "basic_auth_users:\n" + "".join(f"  {name}: {hashed}\n" for name in names)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("basic_auth_usrs: {}\n", "web.yaml:1:1: basic_auth_usrs: unknown key; did you mean `basic_auth_users`?"),
        (users("scraper"), "web.operators: 'ann' cannot log in: "),
    ],
    ids=["a key", "an operator"],
)
def test_an_error_in_it_ends_the_start_before_anything_runs(folder: Path, text: str, told: str) -> None:
    """The pool's first worker once started before, and outlived the daemon."""
    (folder / "web.yaml").write_text(text)
    scalers = [autoscaler("web", "vector(1)")]
    config = write_config(folder, "http://127.0.0.1:1", scalers, web={"operators": ["ann"]})
    ended = run_to_its_end(config, f"--web.config.file={folder / 'web.yaml'}")
    assert (ended.returncode, told in ended.stderr) == (2, True), ended.stderr
    assert not (folder / "state").exists()
    assert workers(folder) == frozenset()


def test_a_reload_applies_operators_of_both_files(folder: Path, prometheus: str) -> None:
    """The configuration names a user of the web configuration. Both files apply together."""
    web = folder / "web.yaml"
    web.write_text(users("ann"))
    config = write_config(folder, prometheus, [autoscaler("web", "vector(1)")])
    with running_daemon(config, f"--web.config.file={web}") as daemon:
        daemon.wait_for("ready")
        url = daemon.url

        def pause(name: str) -> int:
            return requests.post(url + PAUSE, json={}, auth=(name, PASSWORD), timeout=30).status_code

        assert (pause("ann"), pause("scraper")) == (403, 401)
        web.write_text(users("ann", "scraper"))
        config.write_text(config.read_text() + "web: {operators: [ann]}\nwrong: 1\n")
        daemon.send(signal.SIGHUP)
        daemon.wait_for("reload_failed")
        assert (pause("ann"), pause("scraper")) == (403, 401)
        config.write_text(config.read_text().replace("wrong: 1\n", ""))
        daemon.reload()
        assert (pause("ann"), pause("scraper")) == (200, 403)
        config.write_text(config.read_text().replace("[ann]", "[bob]"))
        daemon.send(signal.SIGHUP)
        daemon.wait_for("reload_failed", count=2)
        assert (pause("ann"), pause("scraper")) == (200, 403)
        assert daemon.stop() == 0


def test_a_reload_that_an_adapter_refuses_applies_neither_file(folder: Path, prometheus: str) -> None:
    """The web configuration once applied, with a user whom the refused file removes."""
    web, scalers = folder / "web.yaml", [autoscaler("web", "vector(1)")]
    web.write_text(users("ann"))
    config = write_config(folder, prometheus, scalers)
    with running_daemon(config, f"--web.config.file={web}") as daemon:
        daemon.wait_for("ready")
        url = daemon.url

        def asks(name: str) -> int:
            return requests.get(f"{url}/api/v1/autoscalers", auth=(name, PASSWORD), timeout=30).status_code

        web.write_text(users("ann", "scraper"))
        cloud = {"cloud": {"type": "aws-asg", "region": "eu-west-1", "profile": "nobody"}}
        write_config(folder, prometheus, [*scalers, autoscaler("more", "vector(1)", adapter="cloud")], cloud)
        daemon.send(signal.SIGHUP)
        assert "profile" in daemon.wait_for("reload_failed")["error"]
        assert (asks("ann"), asks("scraper")) == (200, 401)
        write_config(folder, prometheus, scalers)
        daemon.reload()
        assert (asks("ann"), asks("scraper")) == (200, 200)
        assert daemon.stop() == 0
