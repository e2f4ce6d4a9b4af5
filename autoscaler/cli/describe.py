"""`autoscaler describe`: shows one autoscaler in detail."""

import typer

from autoscaler.cli.client import asking
from autoscaler.cli.options import Name, OutputForm
from autoscaler.cli.output import Form, show_found
from autoscaler.cli.tables.description import description
from autoscaler.view.detail import Detail


def describe(
    ctx: typer.Context,
    name: Name,
    *,
    output: OutputForm = Form.TEXT,
) -> None:
    """Describe an autoscaler in the layout of `kubectl describe hpa`: metrics, behavior, conditions, events."""
    with asking(ctx) as client:
        found = client.get(Detail, "/autoscalers/{name}", name)
        show_found(found, output, description)
