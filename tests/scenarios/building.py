"""Files of tests, written and run as users run them."""

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from autoscaler.cli.app import app

START = "2026-11-23T08:00:00Z"


def web(**body: Any) -> dict[str, Any]:
    """An autoscaler of a queue, with 10 entries for each instance as the target."""
    target = {"type": "AverageValue", "averageValue": 10}
    metric = {"type": "External", "external": {"metric": {"name": "queue"}, "query": {"expr": "q"}, "target": target}}
    return {
        "name": "web",
        "scaleTargetRef": {"adapter": "trial", "name": "web"},
        "minReplicas": 1,
        "maxReplicas": 20,
        "metrics": [metric],
    } | body


def per_instance(**body: Any) -> dict[str, Any]:
    """The same with a metric of each instance."""
    target = {"type": "AverageValue", "averageValue": 10}
    return (
        web(metrics=[{"type": "Pods", "pods": {"metric": {"name": "load"}, "query": {"expr": "l"}, "target": target}}])
        | body
    )


class Project:
    """A configuration and a file of tests in one folder."""

    def __init__(self, folder: Path) -> None:
        self.config, self.tests = folder / "autoscaler.yaml", folder / "tests.yaml"
        self.configure(web())

    def configure(self, *scalers: dict[str, Any], **sections: Any) -> None:
        """Write the configuration."""
        names = [each["scaleTargetRef"]["name"] for each in scalers]
        adapters = {"trial": {"type": "memory", "groups": {name: {} for name in names}}}
        self.config.write_text(json.dumps({"adapters": adapters, "autoscalers": scalers} | sections))

    def write(self, *expect: dict[str, Any], subject: dict[str, Any] | None = None, **test: Any) -> None:
        """Write one test of `web`."""
        body = {"values": {"queue": "20"}} | (subject or {}) | {"expect": expect}
        whole = {"name": "one", "start": START, "autoscalers": {"web": body}} | test
        self.tests.write_text(json.dumps({"config": "autoscaler.yaml", "tests": [whole]}))

    def run(self, *options: str) -> tuple[int, str]:
        """The exit code and what is printed."""
        return self.command(str(self.tests), *options)

    def command(self, *options: str) -> tuple[int, str]:
        """The exit code of `autoscaler test`, and what is printed."""
        done = CliRunner().invoke(app, ["test", *options], prog_name="autoscaler")
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.exit_code, done.output

    def passes(self, *expect: dict[str, Any], subject: dict[str, Any] | None = None, **test: Any) -> None:
        """The test is met."""
        self.write(*expect, subject=subject, **test)
        code, text = self.run()
        assert (code, text.splitlines()[-1]) == (0, "1 passed, 0 failed"), text

    def fails(self, *expect: dict[str, Any], subject: dict[str, Any] | None = None, **test: Any) -> str:
        """The first line of what was not met."""
        self.write(*expect, subject=subject, **test)
        code, text = self.run()
        assert code == 1, text
        return text.splitlines()[2].strip()

    def refuses(self, *expect: dict[str, Any], subject: dict[str, Any] | None = None, **test: Any) -> str:
        """What is said of the file, without the last line."""
        self.write(*expect, subject=subject, **test)
        code, text = self.run()
        assert code == 1, text
        assert text.splitlines()[-1].endswith("1 file could not be run"), text
        return "\n".join(text.splitlines()[:-1])
