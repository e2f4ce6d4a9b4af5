"""Help texts that show what to type, in the documentation's words."""

from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperCommand


class Command(TyperCommand):
    """A command whose help shows arguments and options by their metavars: `NAME`, `--since TIME`."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the part after the command in the first line of its help."""
        return ["[OPTIONS]", *map(_usage, _arguments(self.get_params(ctx)))]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments. The message about a wrong choice loses pydantic's prefix."""
        try:
            rest: list[str] = super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            raise
        return rest

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and options."""
        write_parameters(self.get_params(ctx), ctx, formatter)


def write_parameters(parameters: Any, ctx: Any, formatter: Any) -> None:
    """Write the sections `Arguments` and `Options`, unless they are empty."""
    arguments = [(_usage(each), each.help or "") for each in _arguments(parameters)]
    options = [each.get_help_record(ctx) for each in parameters if each.param_type_name == "option"]
    for title, rows in (("Arguments", arguments), ("Options", options)):
        if rows:
            with formatter.section(title):
                formatter.write_dl(rows)


def _arguments(parameters: Any) -> Iterator[Any]:
    return (each for each in parameters if each.param_type_name == "argument")


def _usage(argument: Any) -> str:
    """Return `NAME`, `[NAME]` or `FILE...`."""
    name = str(argument.metavar)
    return (name if argument.required else f"[{name}]") + ("" if argument.nargs == 1 else "...")
