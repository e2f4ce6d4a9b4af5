"""`autoscaler resume`: back to what is configured."""

from typing import Annotated

import typer

from autoscaler.cli.options import DEFAULT_SERVER, HttpConfigFile, Name, ServerUrl
from autoscaler.cli.source import Where
from autoscaler.cli.steering import Reason, change


def resume(
    name: Name,
    *,
    pause: Annotated[bool, typer.Option("--pause", help="End the pause alone.")] = False,
    override: Annotated[bool, typer.Option("--override", help="End the override alone.")] = False,
    reason: Reason = "",
    server: ServerUrl = DEFAULT_SERVER,
    http_config_file: HttpConfigFile = None,
) -> None:
    """End a pause and an override, or one of them alone. Nothing in force is fine too."""
    both = pause == override
    body = {"pause": both or pause, "override": both or override, "reason": reason}
    change(Where(server, http_config_file, None), name, "resume", body)
