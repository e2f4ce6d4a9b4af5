"""Help texts that show what to type, in the documentation's words, and the options that every question accepts."""

from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperCommand
from typer.main import get_command

from autoscaler.cli.options import Where


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
        write_options(self.get_params(ctx), ctx, formatter)


class AskingCommand(Command):
    """A command that asks the daemon. It accepts the options of Where, and its function gets them as `ctx.obj`."""

    def __init__(self, **given: Any) -> None:
        """As the base class."""
        super().__init__(**given)
        maker = typer.Typer(add_completion=False)
        maker.command()(Where)
        self._where: Any = get_command(maker)
        for option in self._where.params:
            option.hidden = True  # type: ignore[attr-defined]  # they are options
        self.params += self._where.params

    def invoke(self, ctx: Any) -> Any:
        """Call the function."""
        ctx.obj = self._where.callback(**{option.name: ctx.params.pop(option.name) for option in self._where.params})
        return super().invoke(ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and options, and where the hidden ones are explained."""
        super().format_options(ctx, formatter)
        names = ", ".join(option.opts[0] for option in self._where.params)
        formatter.write_paragraph()
        formatter.write_text(f"It also accepts {names}: see `autoscaler --help`.")


def write_options(parameters: Any, ctx: Any, formatter: Any) -> None:
    """Write the sections `Arguments` and `Options`, unless they are empty."""
    arguments = [(_usage(each), each.help or "") for each in _arguments(parameters)]
    options = [each.get_help_record(ctx) for each in parameters if each.param_type_name == "option"]
    for title, rows in (("Arguments", arguments), ("Options", [*filter(None, options)])):
        if rows:
            with formatter.section(title):
                formatter.write_dl(rows)


def _arguments(parameters: Any) -> Iterator[Any]:
    return (each for each in parameters if each.param_type_name == "argument")


def _usage(argument: Any) -> str:
    """Return `NAME`, `[NAME]` or `FILE...`."""
    name = str(argument.metavar)
    return (name if argument.required else f"[{name}]") + ("" if argument.nargs == 1 else "...")
