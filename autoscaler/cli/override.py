"""`autoscaler override`: sets other bounds for some time."""

from typing import Annotated, Any

import typer

from autoscaler.cli.options import ConfigFile, HttpConfigFile, Name, ServerUrl
from autoscaler.cli.source import Where
from autoscaler.cli.steering import Chosen, For, Reason, change

_INT32 = 2**31 - 1


def override(
    name: Name,
    *,
    minimum: Annotated[
        int | None, typer.Option("--min", metavar="N", min=0, max=_INT32, help="In place of minReplicas.")
    ] = None,
    maximum: Annotated[
        int | None, typer.Option("--max", metavar="N", min=1, max=_INT32, help="In place of maxReplicas.")
    ] = None,
    span: For = None,
    reason: Reason = "",
    server: ServerUrl = None,
    http_config_file: HttpConfigFile = None,
    config_file: ConfigFile = None,
) -> None:
    """Set other bounds. An omitted bound stays as configured; equal --min and --max fix the size.

    The override is kept in the state, survives restarts, and replaces an earlier one. The target's own limits still
    apply.
    """
    if minimum is None and maximum is None:
        raise typer.BadParameter("give one or both", param_hint="--min, --max")
    if minimum is not None and maximum is not None and minimum > maximum:
        raise typer.BadParameter(
            f"--min {minimum} is above --max {maximum}; lower --min, or raise --max", param_hint="--min, --max"
        )
    body: dict[str, Any] = {"minimum": minimum, "maximum": maximum, "reason": reason}
    change(Where(server, http_config_file, config_file), Chosen(name, None), "override", body, span)
