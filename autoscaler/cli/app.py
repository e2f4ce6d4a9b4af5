"""`autoscaler`: its commands. Each is imported when it is called."""

import gc
from collections.abc import Callable
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup
from typer.main import get_command

from autoscaler import collector
from autoscaler.cli.help import AskingCommand, Command, write_options
from autoscaler.cli.options import ConfigFile, HttpConfigFile, ServerUrl

GROUPS: Final = {
    "Look at what it does": {
        "get": "List autoscalers: metrics, bounds, sizes.",
        "explain": "Explain a decision: why the size did or did not change.",
        "describe": "Describe an autoscaler: metrics, behavior, conditions, events.",
        "history": "Show sizes and metrics over time.",
        "events": "List events; equal ones are counted.",
        "status": "Show the daemon, its shards, and the daemons that share the state.",
    },
    "Steer it": {
        "pause": "Stop writing sizes, in one direction or both.",
        "override": "Set other bounds for a while.",
        "resume": "End a pause and an override.",
    },
    "Try a change": {
        "check": "Check configuration files, and with --live whether they work.",
        "diff": "Show the keys that differ in two configurations.",
        "test": "Run unit tests of a configuration.",
        "replay": "Try a configuration over the past.",
        "schedule": "Show when schedules will change the bounds.",
    },
    "Configure it": {
        "create": "Print the configuration of a new autoscaler.",
        "import": "Convert autoscalers of Kubernetes, KEDA and Nomad.",
        "notify": "Send a notice to the webhook, to try it.",
        "adapter": "Test an adapter, such as one of your own programs.",
    },
    "Run it and keep its state": {
        "run": "Run the daemon, or with --once a single cycle.",
        "backup": "Write the daemon's state into one file.",
        "restore": "Replace the daemon's state by a backup.",
        "resign": "Let another daemon lead.",
        "forget": "Delete an autoscaler from the state.",
    },
}
"""Group of the overview -> its commands -> their lines. Rare commands and groups are last."""
COMMANDS: Final = {name: line for commands in GROUPS.values() for name, line in commands.items()}
"""Command -> its line in the overview. The function is NAME in `autoscaler.cli.NAME`, unless _ELSEWHERE says so."""
HIDDEN: Final = ("reload",)
"""Commands for the service's unit. The overview does not list them, and they may change."""
_ASKING: Final = frozenset({*GROUPS["Look at what it does"], *GROUPS["Steer it"], "reload", "resign"})
"""Commands that ask the daemon."""
_ELSEWHERE: Final = {
    "backup": "cli.keep.backup",
    "forget": "cli.keep.forget",
    "import": "cli.import_.import_",
    "override": "cli.steering.override",
    "pause": "cli.steering.pause",
    "reload": "cli.orders.reload",
    "replay": "whatif.commands.replay.replay",
    "resign": "cli.orders.resign",
    "restore": "cli.keep.restore",
    "resume": "cli.steering.resume",
    "test": "scenarios.test.test",
}
_BEFORE: Final = {
    "server": "--server",
    "http_config_file": "--http.config.file",
    "config_file": "--config.file",
}
"""Parameter of `autoscaler` -> option that may stand before a command that has it."""
_AS_OPTIONS: Final = {"help": "--help", "version": "--version"}
"""Commands that other programs have -> the option."""

_PLAIN: Final[dict[str, Any]] = {
    "add_completion": False,  # of the single commands
    "context_settings": {"help_option_names": ["--help", "-h"]},
    "pretty_exceptions_enable": False,  # rich's tracebacks would show local variables
    "rich_markup_mode": None,  # rich is slow to import
}


@cache  # to make the readers of its options takes longer than many a command
def _command(name: str) -> Any:
    module, _, word = _ELSEWHERE.get(name, f"cli.{name}.{name}").rpartition(".")
    with collector.paused():
        function: Callable[..., None] = getattr(import_module(f"autoscaler.{module}"), word)
        gc.freeze()  # what is imported stays; else the collector makes up for the pause at once
    single = typer.Typer(**_PLAIN)
    single.command(name=name, cls=AskingCommand if name in _ASKING else Command)(function)
    return get_command(single)


class Commands(TyperGroup):
    """A group of commands that imports each when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the signature is the base class's
        """Return the commands' names, in the order of the overview."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - the signature is the base class's
        """Return the command; None: there is none of that name."""
        if cmd_name not in COMMANDS and cmd_name not in HIDDEN:
            return None
        return _command(cmd_name)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments: `help`, `help COMMAND` and `version` like the options of that name."""
        if args and args[0] in _AS_OPTIONS:
            args = [*args[1:2], _AS_OPTIONS[args[0]]]
        rest: list[str] = super().parse_args(ctx, args)
        return rest

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that `args` begin with and its arguments, with the options that were given before it."""
        name, *rest = args
        command = self.get_command(ctx, name)
        if command is None:
            near = get_close_matches(name, [*COMMANDS, *_AS_OPTIONS], n=1)
            ctx.fail(f"there is no command {name[:64]!r}" + (f"; did you mean {near[0]}?" if near else ""))
        before = [
            f"{option}={ctx.params[key]}"
            for key, option in _BEFORE.items()
            if ctx.get_parameter_source(key).name == "COMMANDLINE"
        ]
        return name, command, [*before, *rest]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the groups of the overview, without importing a command, and the options."""
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(list(commands.items()), col_max=10)
        write_options(self.get_params(ctx), ctx, formatter)


app = typer.Typer(cls=Commands, no_args_is_help=True, **_PLAIN | {"add_completion": True})


def _show_version(wanted: bool) -> None:
    if wanted:
        from autoscaler.version import VERSION  # noqa: PLC0415 - slow, and only needed here

        typer.echo(f"autoscaler {VERSION}")
        raise typer.Exit


@app.callback()
def autoscaler(
    *,
    server: ServerUrl = None,
    http_config_file: HttpConfigFile = None,
    config_file: ConfigFile = None,
    show_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Kubernetes' HorizontalPodAutoscaler, for everything that is not Kubernetes.

    Reads PromQL, decides as HPA does, and sets the size of AWS Auto Scaling groups, services of ECS and Docker
    Swarm, Nomad groups, pools of local processes, or what your own program scales.

    `autoscaler help COMMAND` explains a command. The first three options may stand after it, too. Exit codes: 0
    fine, 1 the command failed, 2 wrong arguments.
    """
