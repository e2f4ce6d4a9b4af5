"""The configuration that a daemon runs: each autoscaler as the state has it from the last decision."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from autoscaler.cli.source import DocumentSource, Where, running_config, state_place
from autoscaler.errors import ServerError, StateError
from autoscaler.model import Autoscaler
from autoscaler.record import Archive


@dataclass(frozen=True, slots=True)
class Running:
    """The running configuration."""

    config: Path
    """The file that names its state."""
    scalers: Mapping[str, Autoscaler]
    """By name; without those that have no decision yet."""
    unreadable: Mapping[str, str]
    """Name of each whose recorded configuration is damaged -> the problem."""

    @property
    def notes(self) -> Sequence[str]:
        """Return notes for the operator, a sentence each."""
        dry = [scaler.dry_run for scaler in self.scalers.values()]
        flag = ["every autoscaler is a dry run now; with --dry-run it stays one"]
        damaged = [f"{name} is left out: {problem}" for name, problem in self.unreadable.items()]
        return [*damaged, *(flag if dry and all(dry) else [])]


def running(where: Where, new: Path) -> Running:
    """Return the autoscalers that run now; without a daemon, those that ran last. Raises AutoscalerError.

    The daemon lists the configured ones; its state has their configuration. `where.config` names the state; without it
    and without the default file, `new` does, which is to replace it.
    """
    config = running_config(where.config, new)
    with DocumentSource(replace(where, config=config)) as source:
        configured = [each.name for each in source.autoscalers() if each.configured]
    url, folder, _ = state_place(config)
    try:
        with Archive.open_archive(url, folder) as archive:
            known = archive.specifications()
    except StateError as error:
        raise ServerError(
            f"the running configuration is in the daemon's state, which cannot be read: {error}; name the daemon's "
            "configuration with --config.file, or compare two files with --against"
        ) from None
    found = {name: known[name] for name in configured if name in known}
    return Running(
        config,
        {name: each for name, each in found.items() if not isinstance(each, StateError)},
        {name: str(each) for name, each in found.items() if isinstance(each, StateError)},
    )
