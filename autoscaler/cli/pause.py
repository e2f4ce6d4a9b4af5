"""`autoscaler pause`: write no other size for a while."""

from typing import Annotated

import typer

from autoscaler.cli.options import DEFAULT_SERVER, HttpConfigFile, Name, ServerUrl
from autoscaler.cli.source import Where
from autoscaler.cli.steering import For, Reason, change, seconds
from autoscaler.model import Direction


def pause(
    name: Name,
    *,
    direction: Annotated[Direction, typer.Option("--direction", help="Which way the size may not move.")] = (
        Direction.BOTH
    ),
    span: For = None,
    reason: Reason = "",
    server: ServerUrl = DEFAULT_SERVER,
    http_config_file: HttpConfigFile = None,
) -> None:
    """Write no other size, in one direction or both. Decisions are still made and shown.

    It is kept in the daemon's state, survives restarts, and replaces an earlier pause.
    """
    body = {"direction": direction.value, "reason": reason}
    if (given := seconds(span)) is not None:
        body["for"] = given
    change(Where(server, http_config_file, None), name, "pause", body)
