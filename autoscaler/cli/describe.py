"""`autoscaler describe`: shows one autoscaler in detail."""

from datetime import UTC, datetime

from autoscaler.cli.options import ConfigFile, HttpConfigFile, Name, OutputForm, ServerUrl
from autoscaler.cli.output import Form, exit_on_error, screen, show, show_document
from autoscaler.cli.source import DocumentSource, Where
from autoscaler.cli.tables.description import description
from autoscaler.view.detail import Detail


def describe(
    name: Name,
    *,
    output: OutputForm = Form.TEXT,
    server: ServerUrl = None,
    http_config_file: HttpConfigFile = None,
    config_file: ConfigFile = None,
) -> None:
    """Describe an autoscaler in the layout of `kubectl describe hpa`: metrics, behavior, conditions, events."""
    with exit_on_error(), DocumentSource(Where(server, http_config_file, config_file)) as source:
        found = source.read(Detail, "/autoscalers/{name}", name)
        if output is not Form.TEXT:
            show_document(found, output)
            return
        show(description(found, datetime.now(UTC), screen()))
