"""The key `drain` of an autoscaler."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from autoscaler.config.loader import load_text
from autoscaler.errors import ConfigError
from autoscaler.rules.drain import DrainAction, DrainRule, HttpDrainRule, NodeDrainRule
from tests.config.drains import text


def rule(drain: str, adapter: str = "fleet") -> DrainRule | None:
    return load_text(Path("autoscaler.yaml"), text(drain, adapter)).autoscalers[0].rules.find(DrainRule)


def problems(drain: str, adapter: str = "fleet") -> Sequence[str]:
    with pytest.raises(ConfigError) as error:
        load_text(Path("autoscaler.yaml"), text(drain, adapter))
    return [f"{each.path}: {each.message}" for each in error.value.problems]


def test_a_drain_has_one_action() -> None:
    """The timeout is 15 minutes, and a node's deadline four fifths of it, unless the file says otherwise."""
    quarter = timedelta(minutes=15)
    assert rule("{http: {url: 'http://{address}:80/drain'}}") == DrainRule(
        quarter, http=HttpDrainRule("http://{address}:80/drain", 200)
    )
    assert rule("{hook: leave, timeout: 20m, nomad: {adapter: nomad, deadline: 5m}}") == DrainRule(
        timedelta(minutes=20), "leave", NodeDrainRule("nomad", timedelta(minutes=5))
    )
    nomad = rule("{nomad: {adapter: nomad}}")
    assert nomad is not None
    assert nomad.nomad == NodeDrainRule("nomad", timedelta(minutes=12))
    command = rule("{command: [/bin/drain, -v]}", "local")
    assert command is not None
    assert (command.action, command.command) == (DrainAction.COMMAND, ("/bin/drain", "-v"))


@pytest.mark.parametrize(
    ("drain", "adapter", "problem"),
    [
        ("{timeout: 5m}", "fleet", "drain: expected exactly one of nomad, http, command, found none; add one"),
        (
            "{command: [/bin/true], nomad: {adapter: nomad}}",
            "fleet",
            "drain: expected exactly one of nomad, http, command, found nomad and command; keep one",
        ),
        ("{command: [drain]}", "fleet", "drain.command: 'drain' is not an absolute path; write one, as in"),
        ("{command: /bin/drain}", "fleet", "drain.command: expected a list"),
        ("{command: []}", "fleet", "drain.command: "),
        ("{timeout: 49h, command: [/bin/true]}", "fleet", "drain.timeout: 2d1h is too long; write at most 2d"),
        ("{timeout: 0s, command: [/bin/true]}", "fleet", "drain.timeout: 0 is too short"),
        (
            "{timeout: 5m, nomad: {adapter: nomad, deadline: 6m}}",
            "fleet",
            "drain: deadline 6m of nomad is longer than timeout 5m",
        ),
        ("{nomad: {adapter: fleet}}", "fleet", "drain.nomad.adapter: adapter 'fleet' drains no nodes; name a"),
        ("{nomad: {adapter: nowhere}}", "fleet", "drain.nomad.adapter: no connection 'nowhere' in `adapters`"),
        ("{http: {url: 'http://10.0.0.1/drain'}}", "fleet", "drain.http.url: this is not a valid drain URL"),
        ("{http: {url: 'http://{address}.evil/'}}", "fleet", "drain.http.url: this is not a valid drain URL"),
        ("{http: {url: 'http://{address}/{port}'}}", "fleet", "drain.http.url: {port} stands for nothing; write"),
        ("{http: {url: 'http://{address}/', until: 100}}", "fleet", "drain.http.until: "),
        ("{command: [/bin/true]}", "nomad", "drain: adapter 'nomad' cannot keep an instance that leaves"),
        ("{hook: a, command: [/bin/true]}", "local", "drain: adapter 'local' does not take hook; known: command, http"),
        ("{nomad: {adapter: nomad}}", "local", "drain: adapter 'local' does not take nomad; known: command, http"),
    ],
)
def test_a_drain_that_cannot_be_is_refused(drain: str, adapter: str, problem: str) -> None:
    """Each names the key and what to write instead."""
    (only,) = problems(drain, adapter)
    assert only.startswith(f"autoscalers[0].{problem}")
