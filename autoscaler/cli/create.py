"""`autoscaler create`: prints a new autoscaler for the configuration, like `kubectl autoscale`."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from autoscaler.cli.options import ConfigFile
from autoscaler.cli.output import exit_on_error, show, warn
from autoscaler.convert.blocks import AutoscalerBlock, MetricBlock, UsualQuery, name_of, usual_query
from autoscaler.convert.imported import Destination
from autoscaler.errors import AutoscalerError, ConfigError, QuantityError
from autoscaler.quantity import parse_quantity
from autoscaler.service import CONFIG, has_configuration

if TYPE_CHECKING:  # slow, and not always needed
    from autoscaler.config.settings import Settings

_UNITS = {"cpu": "cores", "memory": "bytes"}


def create(
    *,
    target: Annotated[
        str,
        typer.Option(
            "--target",
            metavar="ADAPTER/NAME",
            help="The connection in `adapters`, and the back end's name of the target.",
        ),
    ],
    maximum: Annotated[int, typer.Option("--max", metavar="N", min=1, max=2**31 - 1, help="maxReplicas.")],
    minimum: Annotated[int, typer.Option("--min", metavar="N", min=1, max=2**31 - 1, help="minReplicas.")] = 1,
    cpu: Annotated[
        str | None,
        typer.Option("--cpu", metavar="TARGET", help="Target: 60% (of the request), or 500m (for each instance)."),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option("--memory", metavar="TARGET", help="Target: 60% (of the request), or 1Gi (for each instance)."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="The autoscaler's name. Default: made from the target's."),
    ] = None,
    config_file: ConfigFile = None,
) -> None:
    """Print an autoscaler for the section `autoscalers` of a configuration.

    The queries are those of the adapter's usual exporter: adapt them to yours, then run `autoscaler check`. A target or
    a name that an autoscaler of the configuration has is refused.
    """
    adapter, _, rest = target.partition("/")
    if not adapter or not rest:
        raise typer.BadParameter(f"{target[:64]!r} is not a valid target; write ADAPTER/NAME", param_hint="--target")
    if maximum < minimum:
        raise typer.BadParameter(f"{maximum} is below --min {minimum}", param_hint="--max")
    given = {word: value for word, value in (("cpu", cpu), ("memory", memory)) if value is not None}
    if not given:
        raise typer.BadParameter("give one or both", param_hint="--cpu, --memory")
    targets = {word: _target(word, value) for word, value in given.items()}
    with exit_on_error():
        kind = adapter_type(adapter, config_file)
        metrics = [_metric(word, goal, kind, usual_query(word, kind, rest)) for word, goal in targets.items()]
        reserves = Destination(adapter, kind).reserves
        block = AutoscalerBlock(name or name_of(rest), adapter, rest, minimum, maximum, metrics, reserves=reserves)
        from autoscaler.cli.reread import checked_lines  # noqa: PLC0415 - slow to import
        from autoscaler.convert.distinct import Taken  # noqa: PLC0415 - likewise

        if (problem := Taken(configured(config_file)).take(block, "")) is not None:
            raise AutoscalerError(f"{block.name}: {problem}")
        head = [f"Scales {target}. Add it to `autoscalers` in the configuration, then run: autoscaler check"]
        if kind is None:
            head.append(f"The type of the adapter {adapter} is unknown, so the queries are a guess.")
        lines = checked_lines(head, [block])
    warn(f"{block.name}: {text}" for text in block.unwritten_requests())
    show(lines)


def adapter_type(adapter: str, config_file: Path | None) -> str | None:
    """Return the type of a connection; None: no file is named, and the default one does not exist.

    Raises as `config.connection_type`.
    """
    if config_file is None and not has_configuration():
        return None
    from autoscaler.config.loader import connection_type  # noqa: PLC0415 - slow, and not always needed

    return connection_type(config_file or CONFIG, adapter)


def configured(config_file: Path | None) -> "Settings | None":
    """Return the configuration that a new autoscaler is for; None: there is none, or it does not load."""
    from autoscaler.config.loader import load  # noqa: PLC0415 - slow, and not always needed

    try:
        return load(config_file or CONFIG)
    except ConfigError:  # it may not be finished
        return None


def _target(word: str, value: str) -> Mapping[str, Any]:
    """Return the target: `60%` of the request, or a quantity for each instance."""
    if match := re.fullmatch(r"([1-9][0-9]{0,8})%", value, re.ASCII):
        return {"type": "Utilization", "averageUtilization": int(match[1])}
    try:
        if parse_quantity(value) > 0:
            return {"type": "AverageValue", "averageValue": value}
    except QuantityError:
        pass
    raise typer.BadParameter(
        f'{value[:64]!r} is not a valid target value; write "60%" of the request, or a quantity in {_UNITS[word]}',
        param_hint=f"--{word}",
    )


def _metric(word: str, target: Mapping[str, Any], kind: str | None, query: UsualQuery | None) -> MetricBlock:
    if query is None:
        raise AssertionError("every adapter type has queries for cpu and memory")
    unit = "MHz" if (word, kind) == ("cpu", "nomad") else _UNITS[word]
    return MetricBlock("Resource", {"name": word}, target, query, f"one sample for each instance, in {unit}")
