"""`autoscaler describe`: one autoscaler with all that is known of it."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from autoscaler.cli.options import DEFAULT_SERVER, ConfigFile, HttpConfigFile, Name, ServerUrl
from autoscaler.cli.output import Form, failing, screen, show, show_document
from autoscaler.cli.server import understood
from autoscaler.cli.source import Source, Where


def describe(
    name: Name,
    *,
    output: Annotated[Form, typer.Option("-o", "--output", help="The form.")] = Form.TEXT,
    server: ServerUrl = DEFAULT_SERVER,
    http_config_file: HttpConfigFile = None,
    config_file: ConfigFile = None,
) -> None:
    """Describe an autoscaler in the layout of `kubectl describe hpa`: metrics, behavior, conditions, events."""
    with failing(), Source(Where(server, http_config_file, config_file)) as source:
        found = source.autoscaler(name)
        if output is not Form.TEXT:
            show_document(found, output)
            return
        from autoscaler.cli.tables.description import description  # noqa: PLC0415
        from autoscaler.documents import Detail  # noqa: PLC0415 - slow, and a wrong name needs none

        detail = understood(lambda: Detail.model_validate(found))
        show(description(detail, datetime.now(UTC), screen()))
