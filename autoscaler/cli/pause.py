"""`autoscaler pause`: stops writes of sizes for some time."""

from typing import Annotated

import typer

from autoscaler.cli.options import ConfigFile, Every, HttpConfigFile, OneName, SelectorText, ServerUrl
from autoscaler.cli.source import Where
from autoscaler.cli.steering import Chosen, For, Reason, change
from autoscaler.model import Direction


def pause(
    name: OneName = None,
    *,
    every: Every = False,
    labels: SelectorText = None,
    direction: Annotated[
        Direction,
        typer.Option(
            "--direction", metavar="DIRECTION", help="The direction in which no size is written: out, in or both."
        ),
    ] = (Direction.BOTH),
    span: For = None,
    reason: Reason = "",
    server: ServerUrl = None,
    http_config_file: HttpConfigFile = None,
    config_file: ConfigFile = None,
) -> None:
    """Stop writing sizes, in one direction or both. Decisions are still made and shown.

    The pause is kept in the state, survives restarts, and replaces an earlier one. With --all or -l one request pauses
    all of them, or none. Autoscalers that are configured later are not paused.
    """
    body = {"direction": direction.value, "reason": reason}
    change(Where(server, http_config_file, config_file), Chosen.of(name, every, labels), "pause", body, span)
