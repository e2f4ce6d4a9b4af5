"""What docs/metrics.md says of the alerts that config/alerts.yaml has."""

import re

import yaml

from tests.metrics.test_rules import CONFIG, ROOT


def test_each_alert_has_an_entry_that_says_what_to_do() -> None:
    """The operator who is woken looks the alert's name up, and finds its severity and what to do."""
    rules = yaml.safe_load(CONFIG[0].read_text())["groups"][0]["rules"]
    alerts = [(rule["alert"], rule["labels"]["severity"]) for rule in rules]
    entries = re.findall(r"^### (\w+)\n\n\*(\w+)", (ROOT / "docs/metrics.md").read_text(), re.M)
    assert entries == alerts
