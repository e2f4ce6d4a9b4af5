"""The configuration that a daemon runs: what its state says that each autoscaler was last decided as."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from autoscaler.cli.source import Source, Where, running_config, state_place
from autoscaler.errors import ServerError, StateError
from autoscaler.model import Autoscaler
from autoscaler.record import Archive


@dataclass(frozen=True, slots=True)
class Running:
    """What runs."""

    config: Path
    """The file that says where its state is."""
    scalers: Mapping[str, Autoscaler]
    """By name; those that were decided about already."""
    unreadable: Mapping[str, str]
    """Those whose recorded configuration is damaged, by name, and how."""

    @property
    def notes(self) -> Sequence[str]:
        """What an operator should know beside it, a sentence each."""
        dry = [scaler.dry_run for scaler in self.scalers.values()]
        flag = ["every autoscaler is a dry run now; one that was started with --dry-run stays so"]
        damaged = [f"{name} is left out: {problem}" for name, problem in self.unreadable.items()]
        return [*damaged, *(flag if dry and all(dry) else [])]


def running(where: Where, new: Path) -> Running:
    """The autoscalers that run now; without a daemon, those that ran last. Raises AutoscalerError.

    Which ones are configured, the daemon says; as what, its state. Where that is, `where.config` says; where none is
    named or at the default place, `new`, which is to replace it.
    """
    config = running_config(where.config, new)
    with Source(replace(where, config=config)) as source:
        configured = [each.name for each in source.autoscalers() if each.configured]
    url, folder, _ = state_place(config)
    try:
        with Archive.open_archive(url, folder) as archive:
            known = archive.specifications()
    except StateError as error:
        raise ServerError(
            f"what runs is read from the daemon's state, and that cannot be read: {error}; name the daemon's "
            "configuration with --config.file, or compare two files with --against"
        ) from None
    found = {name: known[name] for name in configured if name in known}
    return Running(
        config,
        {name: each for name, each in found.items() if not isinstance(each, StateError)},
        {name: str(each) for name, each in found.items() if isinstance(each, StateError)},
    )
