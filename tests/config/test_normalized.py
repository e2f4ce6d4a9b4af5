"""The normalized form of a file, and what differs in two of them."""

from pathlib import Path

import pytest
import yaml

from autoscaler.config.loader import load
from autoscaler.config.normalized import HIDDEN, Difference, differences, normalized, without_secrets
from tests.config.normalized import FILE, file

CHANGES = [
    ("syncPeriod: 15s", "syncPeriod: 30s", "controller.syncPeriod"),
    ("localhost:9090", "localhost:9091", "prometheus.default.url"),
    ("X-Scope-OrgID: one", "X-Scope-OrgID: two", "prometheus.default.headers.X-Scope-OrgID"),
    ("token: first", "token: second", "prometheus.default.params.token"),
    ("maxTotal: 9", "maxTotal: 8", "adapters.local.maxTotal"),
    ("command: [web]", "command: [web, now]", "adapters.local.pools.web.command[1]"),
    ("KEY: first", "KEY: second", "adapters.local.pools.web.env.KEY"),
    ("retention: 7d", "retention: 8d", "state.retention"),
    ("127.0.0.1:1", "127.0.0.1:2", "web.listenAddress"),
    ("decisions: changed", "decisions: all", "log.decisions"),
    ("localhost/first", "localhost/second", "notify.webhook.url"),
    ("0 8 * * *", "0 9 * * *", "schedules.day[0].cron"),
    ("maxReplicas: 5", "maxReplicas: 6", "grants.shop.maxReplicas"),
    ("expr: load", "expr: other", "queries.load.expr"),
    ("maxReplicas: 9", "maxReplicas: 8", "autoscalers[web].maxReplicas"),
    ("value: 1", "value: 2", "autoscalers[web].metrics[load].external.target.value"),
    ("outsideChange: false", "outsideChange: {hold: 1h}", "autoscalers[web].brakes.outsideChange"),
]
"""A text in FILE, another one, and the key that then differs."""


def changed(folder: Path, before: str, after: str) -> list[Difference]:
    assert before in FILE
    own = normalized(file(folder))
    return list(differences(own, normalized(file(folder, FILE.replace(before, after, 1)))))


def test_the_normalized_form_is_a_file_with_the_same_meaning(tmp_path: Path) -> None:
    """Both files load as the same settings."""
    form = normalized(file(tmp_path))
    first = load(tmp_path / "autoscaler.yaml")
    second = load(file(tmp_path, yaml.safe_dump(form)))
    assert second.autoscalers == first.autoscalers
    assert (second.prometheus, second.adapters, second.limits) == (first.prometheus, first.adapters, first.limits)
    assert (second.state, second.web, second.grants, second.notify) == (
        first.state,
        first.web,
        first.grants,
        first.notify,
    )
    assert normalized(tmp_path / "autoscaler.yaml") == form


@pytest.mark.parametrize(("before", "after", "path"), CHANGES, ids=[path for _, _, path in CHANGES])
def test_no_section_is_forgotten(tmp_path: Path, before: str, after: str, path: str) -> None:
    """A changed webhook is a change, too."""
    assert path in [each.path for each in changed(tmp_path, before, after)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("value: 1}", 'value: "1000m"}'),
        ("retention: 7d", "retention: 168h"),
        ("log: {decisions: changed}", ""),
        ("maxReplicas: 9", "maxReplicas: 9\n    minReplicas: 1"),
    ],
)
def test_another_way_of_writing_is_no_difference(tmp_path: Path, before: str, after: str) -> None:
    assert changed(tmp_path, before, after) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [("localhost/first", "localhost/second"), ("token: first", "token: second"), ("KEY: first", "KEY: second")],
)
def test_a_secret_is_compared_and_not_shown(tmp_path: Path, before: str, after: str) -> None:
    (found,) = changed(tmp_path, before, after)
    assert (found.before, found.after) == (HIDDEN, HIDDEN)
    assert "first" not in yaml.safe_dump(without_secrets(normalized(file(tmp_path))))


def test_an_added_or_removed_autoscaler_is_one_difference(tmp_path: Path) -> None:
    removed, added = changed(tmp_path, "  - name: web", "  - name: shop")
    assert (removed.path, removed.after) == ("autoscalers[web]", None)
    assert (added.path, added.before) == ("autoscalers[shop]", None)


def test_keys_of_rules_stand_behind_a_sections_own(tmp_path: Path) -> None:
    """A reader finds the metric's name and query first."""
    text = FILE.replace("target: {type: Value, value: 1}", "target: {type: Value, value: 1}, fallback: {replicas: 2}")
    scaler = normalized(file(tmp_path, text))["autoscalers"][0]
    assert list(scaler["metrics"][0]["external"]) == ["metric", "query", "target", "fallback"]
    assert list(scaler)[:2] == ["name", "labels"]
