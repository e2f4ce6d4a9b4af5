"""`autoscaler explain`: explains a decision."""

import typer

from autoscaler.cli.client import asking
from autoscaler.cli.options import At, Name, OutputForm, moment
from autoscaler.cli.output import Form, show_found
from autoscaler.cli.tables.explanation import explanation
from autoscaler.view.explanation import Explanation


def explain(
    ctx: typer.Context,
    name: Name,
    *,
    at: At = None,
    output: OutputForm = Form.TEXT,
) -> None:
    """Explain the last decision, or the one in force at the time of --at.

    Shows the value and proposal of each metric, which metric won, how windows, policies and bounds changed the size and
    for how much longer, and what would have to change for another size.
    """
    when = None if at is None else moment(at, "--at")
    with asking(ctx) as client:
        found = client.get(Explanation, "/autoscalers/{name}/explain", name, at=when)
        show_found(found, output, explanation)
