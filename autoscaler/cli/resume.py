"""`autoscaler resume`: ends pauses and overrides."""

from typing import Annotated

import typer

from autoscaler.cli.options import ConfigFile, Every, HttpConfigFile, OneName, SelectorText, ServerUrl
from autoscaler.cli.source import Where
from autoscaler.cli.steering import Chosen, Reason, change


def resume(
    name: OneName = None,
    *,
    every: Every = False,
    labels: SelectorText = None,
    pause: Annotated[bool, typer.Option("--pause", help="End only the pause.")] = False,
    override: Annotated[bool, typer.Option("--override", help="End only the override.")] = False,
    reason: Reason = "",
    server: ServerUrl = None,
    http_config_file: HttpConfigFile = None,
    config_file: ConfigFile = None,
) -> None:
    """End the pause and the override, or only one of them. If none is in force, nothing happens.

    With --all or -l one request resumes all of them, or none.
    """
    both = pause == override
    body = {"pause": both or pause, "override": both or override, "reason": reason}
    change(Where(server, http_config_file, config_file), Chosen.of(name, every, labels), "resume", body)
