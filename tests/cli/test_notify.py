"""`autoscaler notify test`."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autoscaler.cli.app import app
from tests.notify.receiver import Receiver, receiving


def run(folder: Path, receiver: Receiver | None) -> tuple[int, str, str]:
    notify = {}
    if receiver is not None:
        webhook = receiver.webhook(folder)
        notify = {"notify": {"webhook": {"url": webhook.url, "secretFile": str(webhook.secret_file)}}}
    config = folder / "autoscaler.yaml"
    config.write_text(json.dumps({"autoscalers": []} | notify))
    done = CliRunner().invoke(app, ["notify", "test", f"--config.file={config}"])
    return done.exit_code, done.stdout, done.stderr


def test_a_receiver_that_accepts_the_notice(tmp_path: Path) -> None:
    with receiving() as receiver:
        code, out, _ = run(tmp_path, receiver)
        assert receiver.types == ["test"]
        assert (code, out) == (0, f"notice {receiver.events[0]['id']}: delivered, answered 204\n")


@pytest.mark.parametrize(("answer", "said"), [(401, "refused, answered 401"), (500, "failed, answered 500")])
def test_a_receiver_that_does_not(tmp_path: Path, answer: int, said: str) -> None:
    with receiving() as receiver:
        receiver.answers = [answer]
        code, out, err = run(tmp_path, receiver)
    assert (code, out) == (1, "")
    assert said in err


def test_a_configuration_without_a_webhook(tmp_path: Path) -> None:
    code, _, err = run(tmp_path, None)
    assert code == 1
    assert "has no notify.webhook, so it sends no notices" in err
