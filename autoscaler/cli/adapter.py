"""`autoscaler adapter test`: runs the contract suite against one target of a connection."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final, NamedTuple
from unittest import SkipTest

import typer

from autoscaler.cli.find_daemon import configuration
from autoscaler.cli.options import ConfigFile, OnlyTest, duration
from autoscaler.cli.output import exit_on_error
from autoscaler.config.settings import Settings
from autoscaler.errors import AdapterError, TargetError, named
from autoscaler.fields.types import suggest
from autoscaler.model import TargetRef
from autoscaler.target import Adapter
from autoscaler.target import load as load_type
from autoscaler.target.contract import AdapterContract, Harness, make_context
from autoscaler.text import clean, count

_MISSING: Final = "-autoscaler-adapter-test"
"""Added to the target's name, names a target that does not exist."""
_FOLDER: Final = "autoscaler-adapter-"


class _Chosen(NamedTuple):
    """The target under test, and what it can do."""

    target: TargetRef
    unscalable: str | None
    sizes: tuple[int, int]
    to_zero: bool
    victims: bool
    patience: timedelta


class _Connection(Harness):
    """A connection of the configuration. Another adapter of it stands for another client."""

    poll_seconds = 0.5

    def __init__(self, settings: Settings, chosen: _Chosen, folder: Path) -> None:
        self._section = settings.adapters[chosen.target.adapter]
        self._folder = folder
        self.target = chosen.target
        self.missing = self._named(chosen.target.name + _MISSING)
        self.unscalable = None if chosen.unscalable is None else self._named(chosen.unscalable)
        self.small, self.large = chosen.sizes
        self.scales_to_zero, self.chooses_victims = chosen.to_zero, chosen.victims
        self.patience_seconds = chosen.patience.total_seconds()
        self.deadline_seconds = settings.shared.controller.sync_period.total_seconds()
        self.adapter = self._build(dry_run=False)

    def rebuild(self, *, dry_run: bool = False) -> Adapter:
        """Close the adapter and build it again."""
        self.close()
        self.adapter = self._build(dry_run=dry_run)
        return self.adapter

    def set_size_outside(self, size: int) -> None:
        """Scale by an adapter of its own."""
        mine, self.adapter = self.adapter, self._build(dry_run=False)
        try:
            self.adapter.scale(self.target, self.change(self.observe(), size), self.call())
        finally:
            self.close()
            self.adapter = mine

    def unreachable(self) -> Adapter | str:
        """Return why no test has an outage."""
        return "it needs a back end that does not answer"

    def close(self) -> None:
        """Close the adapter."""
        self.adapter.close()

    def _build(self, *, dry_run: bool) -> Adapter:
        context = make_context(self._section.settings, self._folder, name=self.target.adapter, dry_run=dry_run)
        return load_type(self._section.type)(context)

    def _named(self, name: str) -> TargetRef:
        return TargetRef(self.target.adapter, name, self.target.namespace, self.target.region)


class _Result(NamedTuple):
    """What became of one promise."""

    verdict: str
    """ok, skipped or BROKEN."""
    promise: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.verdict:<8} {self.promise}" + (f": {clean(self.detail)}" if self.detail else "")


def adapter(
    what: OnlyTest,  # noqa: ARG001 - there is one
    connection: Annotated[str, typer.Argument(metavar="CONNECTION", help="Its name in adapters.")],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="As in scaleTargetRef.name. It is scaled.")],
    *,
    namespace: Annotated[str | None, typer.Option("--namespace", metavar="NAME", help="As in scaleTargetRef.")] = None,
    region: Annotated[str | None, typer.Option("--region", metavar="NAME", help="As in scaleTargetRef.")] = None,
    unscalable: Annotated[
        str | None, typer.Option("--unscalable", metavar="NAME", help="A target that exists and cannot be scaled.")
    ] = None,
    small: Annotated[int, typer.Option("--small", metavar="N", min=1, help="The smaller size.")] = 1,
    large: Annotated[int, typer.Option("--large", metavar="N", min=3, help="The larger size, by at least 2.")] = 3,
    to_zero: Annotated[bool, typer.Option("--to-zero", help="Also scale to 0 and back.")] = False,
    victims: Annotated[bool, typer.Option("--victims", help="Also test that named victims leave first.")] = False,
    patience: Annotated[
        str, typer.Option("--patience", metavar="DURATION", help="How long the target may take to reach a size.")
    ] = "5m",
    config_file: ConfigFile = None,
) -> None:
    """Test whether an adapter keeps the promises of the adapter contract, for example one of type command.

    Scales TARGET some thirty times between two sizes, so name one that carries no load, and that no daemon scales.
    Prints a line for each promise: kept, broken and why, or skipped and why. Exits with 1 if one is broken.
    """
    if large - small < 2:
        raise typer.BadParameter("must be at least 2 more than --small", param_hint="--large")
    wait = duration(patience, "--patience") or timedelta(0)
    ref = TargetRef(connection, target, namespace, region)
    with exit_on_error():
        settings = configuration(config_file)
        _check(settings, ref)
        chosen = _Chosen(ref, unscalable, (small, large), to_zero, victims, wait)
        _read_once(settings, chosen)
        found = []
        for result in _results(settings, chosen):
            typer.echo(str(result))
            found.append(result.verdict)
    broken = found.count("BROKEN")
    typer.echo(
        f"{count(len(found), 'promise')}: {found.count('ok')} kept, {broken} broken, {found.count('skipped')} skipped"
    )
    raise typer.Exit(1 if broken else 0)


def _check(settings: Settings, target: TargetRef) -> None:
    """Raise AdapterError if the target cannot be tested."""
    section = settings.adapters.get(target.adapter)
    if section is None:
        known = suggest(target.adapter, settings.adapters)
        raise AdapterError(f"{settings.path} has no connection {target.adapter[:64]!r}; {known}")
    kind = load_type(section.type)
    if kind.one_shard:
        raise AdapterError(f"an adapter of type {section.type!r} keeps its targets running by itself; it is not tested")
    if (problem := kind.target_problem(target, section.settings)) is not None:
        raise AdapterError(f"TARGET: {problem.removeprefix('name: ')}")


def _read_once(settings: Settings, chosen: _Chosen) -> None:
    """Raise AdapterError if the target cannot be read: that breaks no promise, and nearly all of them need it."""
    with TemporaryDirectory(prefix=_FOLDER, ignore_cleanup_errors=True) as folder:
        harness = _Connection(settings, chosen, Path(folder))
        try:
            found = harness.adapter.observe([chosen.target], harness.call()).get(chosen.target)
        except TargetError as error:
            found = error
        except Exception:  # noqa: BLE001 - foreign code; each promise says how it failed
            return
        finally:
            harness.close()
    if isinstance(found, TargetError):
        raise AdapterError(f"{chosen.target} cannot be read, so no promise was tested: {found}")


def _results(settings: Settings, chosen: _Chosen) -> Iterator[_Result]:
    """Test each promise with an adapter of its own."""
    for name in [name for name in vars(AdapterContract) if name.startswith("test_")]:
        with TemporaryDirectory(prefix=_FOLDER, ignore_cleanup_errors=True) as folder:
            harness = _Connection(settings, chosen, Path(folder))
            promise = name.removeprefix("test_").replace("_", " ")
            try:
                getattr(AdapterContract(), name)(harness)
            except SkipTest as why:
                yield _Result("skipped", promise, str(why))
            except (AssertionError, TargetError) as broken:
                yield _Result("BROKEN", promise, str(broken))
            except Exception as error:  # noqa: BLE001 - foreign code
                yield _Result("BROKEN", promise, f"the adapter failed: {named(error)}")
            else:
                yield _Result("ok", promise)
            finally:
                harness.close()
