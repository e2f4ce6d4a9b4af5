"""Names of labels, in the keys of queries."""

import json

import pytest

from autoscaler.errors import ConfigError
from tests.config.conftest import Load
from tests.config.texts import query


@pytest.mark.parametrize("name", ["service.instance.id", "k8s.pod.name", "service-id", "größe", "a b", "0a", '"'])
def test_labels_are_those_of_prometheus_3(load_text: Load, name: str) -> None:
    """OpenTelemetry's labels were refused here, while expressions with them passed."""
    key = json.dumps(name, ensure_ascii=False)
    got = query(load_text, f"{{ref: c, match: {{{key}: x}}}}", f"{{c: {{expr: c, instanceLabel: {key}}}}}")
    assert (got.match, got.instance_label) == (((name, "x"),), name)


@pytest.mark.parametrize("name", ["", "a\n", "\x7f"])
def test_a_label_has_printable_characters(load_text: Load, name: str) -> None:
    """Others would be typing mistakes."""
    with pytest.raises(ConfigError, match="is not a valid label name"):
        query(load_text, f"{{ref: c, instanceLabel: {json.dumps(name)}}}", "{c: {expr: c}}")
