"""`autoscaler`: its commands. Each is imported when it is called."""

from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from keyword import iskeyword
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup
from typer.main import get_command

from autoscaler.cli.help import Command, write_parameters

COMMANDS: Final = {
    "check": "Check configuration files offline; show every error at once.",
    "test": "Run unit tests of a configuration.",
    "run": "Run the daemon, or with --once a single cycle.",
    "get": "List autoscalers: metrics, bounds, sizes.",
    "describe": "Describe an autoscaler: metrics, behavior, conditions, events.",
    "explain": "Explain a decision: why the size did or did not change.",
    "events": "List events; equal ones are counted.",
    "history": "Show sizes and metrics over time.",
    "schedule": "Show when schedules will change the bounds.",
    "replay": "Try a configuration over the past.",
    "diff": "Show the keys that differ in two configurations.",
    "status": "Show the daemon, its shards, and the daemons that share the state.",
    "pause": "Stop writing sizes, in one direction or both.",
    "resume": "End a pause and an override.",
    "override": "Set other bounds for a while.",
    "backup": "Write the daemon's state into one file.",
    "restore": "Replace the daemon's state by a backup.",
    "resign": "Let another daemon lead.",
    "notify": "Send a notice to the webhook, to try it.",
    "forget": "Delete an autoscaler from the state.",
    "create": "Print the configuration of a new autoscaler.",
    "import": "Print the configuration for HorizontalPodAutoscaler manifests.",
    "adapter": "Test an adapter, such as one of your own programs.",
}
"""Command -> its line in the overview. The function is NAME in `autoscaler.cli.NAME`; for `import`, `import_`."""
_ELSEWHERE: Final = {"replay": "whatif.commands", "test": "scenarios"}
"""Command -> its package, for those that are not in `autoscaler.cli`."""
_INSTEAD: Final = {
    "tune": "try other values with `autoscaler replay --candidate FILE`",
    "shadow": "see what its decisions would have come to with `autoscaler replay NAME`",
    "export": "write the whole state into a file with `autoscaler backup FILE`",
}
"""Command that no longer exists -> what to do instead."""
HIDDEN: Final = ("reload",)
"""Commands for the service's unit. The overview does not list them, and they may change."""

_PLAIN: Final[dict[str, Any]] = {
    "add_completion": False,  # of the single commands
    "pretty_exceptions_enable": False,  # rich's tracebacks would show local variables
    "rich_markup_mode": None,  # rich is slow to import
}

_SHARED: Final = {
    "server": "--server",
    "http_config_file": "--http.config.file",
    "config_file": "--config.file",
}
"""Options that are also accepted before a command that has them: parameter of `autoscaler` -> option."""


class Commands(TyperGroup):
    """A group of commands that imports each when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the signature is the base class's
        """Return the commands' names, in the order of the overview."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - the signature is the base class's
        """Return the command; None: there is none of that name."""
        if cmd_name not in COMMANDS and cmd_name not in HIDDEN:
            return None
        word = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        module = import_module(f"autoscaler.{_ELSEWHERE.get(cmd_name, 'cli')}.{word}")
        function: Callable[..., None] = getattr(module, word)
        single = typer.Typer(**_PLAIN)
        single.command(name=cmd_name, cls=Command)(function)
        return get_command(single)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that `args` begin with and its arguments, with the options that were given before it."""
        name, *rest = args
        command = self.get_command(ctx, name)
        if command is None:
            near = get_close_matches(name, COMMANDS, n=1)
            hint = _INSTEAD.get(name) or (f"did you mean {near[0]}?" if near else "")
            ctx.fail(f"there is no command {name[:64]!r}" + (f"; {hint}" if hint else ""))
        before = [
            f"{_SHARED[key]}={value}" for key, value in ctx.params.items() if key in _SHARED and value is not None
        ]
        return name, command, [*before, *rest]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options and the overview, without importing a command."""
        write_parameters(self.get_params(ctx), ctx, formatter)
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


app = typer.Typer(cls=Commands, no_args_is_help=True, **_PLAIN | {"add_completion": True})


def _show_version(wanted: bool) -> None:
    if wanted:
        from autoscaler.version import VERSION  # noqa: PLC0415 - slow, and only needed here

        typer.echo(f"autoscaler {VERSION}")
        raise typer.Exit


@app.callback()
def autoscaler(
    *,
    server: Annotated[str | None, typer.Option("--server", metavar="URL", help="Where the daemon answers.")] = None,
    http_config_file: Annotated[
        str | None, typer.Option("--http.config.file", metavar="FILE", help="Credentials and TLS for it.")
    ] = None,
    config_file: Annotated[
        str | None, typer.Option("--config.file", metavar="FILE", help="The daemon's configuration.")
    ] = None,
    show_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Kubernetes' HorizontalPodAutoscaler, for everything that is not Kubernetes.

    Reads PromQL, decides as HPA does, and sets the size of AWS Auto Scaling groups, services of ECS and Docker
    Swarm, Nomad groups, pools of local processes, or what your own program scales. Exit codes: 0 fine, 1 the
    command failed, 2 wrong arguments.

    The first three options belong to the commands that have them, and may stand after the command as well.
    """
