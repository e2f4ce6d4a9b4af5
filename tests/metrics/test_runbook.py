"""What docs/operations.md and docs/metrics.md say of the alerts that config/alerts.yaml has."""

import re

import yaml

from tests.metrics.test_rules import CONFIG, ROOT


def test_each_alert_has_an_entry_that_says_what_to_do() -> None:
    """Whoever is woken looks the alert's name up, and finds its severity and what to do."""
    rules = yaml.safe_load(CONFIG[0].read_text())["groups"][0]["rules"]
    alerts = [(rule["alert"], rule["labels"]["severity"]) for rule in rules]
    table = re.findall(
        r"^\| \[(\w+)\]\(metrics\.md#(\w+)\) \| (\w+) \|$", (ROOT / "docs/operations.md").read_text(), re.M
    )
    assert [(name, severity) for name, _, severity in table] == alerts
    assert all(anchor == name.lower() for name, anchor, _ in table)
    entries = re.findall(r"^### (\w+)\n\n\*(\w+)", (ROOT / "docs/metrics.md").read_text(), re.M)
    assert [entry for entry in entries if entry[0].startswith("Autoscaler")] == alerts
