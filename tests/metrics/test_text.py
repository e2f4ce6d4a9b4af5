"""Prometheus can parse the exposition."""

import re
import subprocess

import pytest
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from autoscaler.metrics.text import exposition
from tests.metrics.exposed import everything
from tests.servers.prometheus import programs


def test_the_exposition_equals_that_of_the_client_library() -> None:
    """Families, types, help texts and series are the same."""
    registry = everything().registry
    ours, theirs = exposition(registry).decode(), generate_latest(registry).decode()
    still = [family for family in text_string_to_metric_families(ours) if not family.name.startswith("process_")]
    assert still == [
        family for family in text_string_to_metric_families(theirs) if not family.name.startswith("process_")
    ]
    assert len(still) > 30


def test_each_help_text_is_a_sentence() -> None:
    """They are the meanings in the documentation's table of metrics."""
    ours = [family for family in everything().registry.collect() if family.name.startswith("autoscaler_")]
    assert [one.documentation for one in ours if not re.fullmatch(r"[A-Z\d].*[a-z\d)]\.", one.documentation)] == []


def test_a_label_may_contain_any_character() -> None:
    registry = CollectorRegistry()
    nasty = 'a"b\\c\nd\\n{e="f"}, ünïcode'
    Gauge("g", "A gauge.", ["label"], registry=registry).labels(nasty).set(1)
    (family,) = text_string_to_metric_families(exposition(registry).decode())
    assert [sample.labels["label"] for sample in family.samples] == [nasty]


@pytest.mark.slow
def test_every_name_and_help_passes_promtool() -> None:
    """Prometheus' own linter checks base units, suffixes and help texts."""
    text = exposition(everything().registry)
    checked = subprocess.run([programs().promtool, "check", "metrics"], input=text, capture_output=True, check=False)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, b"")
