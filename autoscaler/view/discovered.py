"""The origins of autoscalers outside the main file, and what became of each: teams' files, and policies and labels."""

from datetime import datetime

from autoscaler.document import Document


class DiscoveredPolicy(Document):
    """One policy of a back end."""

    target: str
    """CONNECTION/NAMESPACE/NAME of its target, or CONNECTION/NAME."""
    autoscaler: str | None
    """The autoscaler that it is, or that its last good version is; null: it is refused."""
    dry_run: bool
    """Whether that autoscaler is a dry run."""
    refused: str | None
    """Why it is no autoscaler, or why its newest version is not in force."""
    differences: tuple[str, ...]
    """Where the autoscaler scales differently than the policy, or may."""


class DiscoveredFile(Document):
    """A file in the folder of a team."""

    file: str
    grant: str
    """The name of the team and its grant."""
    autoscalers: tuple[str, ...]
    """Those that are served: of the file, or of its last good version."""
    dry_run: bool
    """Whether all of these are dry runs."""
    refused: str | None
    """Why autoscalers of it are not served, or why its newest version is not in force or not known."""
    differences: tuple[str, ...]
    """What the ceiling of the grant changes."""


class DiscoveringConnection(Document):
    """One connection whose policies are discovered."""

    name: str
    at: datetime | None
    """When its back end last answered; null: not since the start."""
    found: int
    """The number of policies."""
    refused: int
    """The number of those that are no autoscalers, or of which the newest version is not in force."""
    failing: int
    """The number of namespaces and targets of which the last look learned nothing; what was known of them stays."""
    failures: tuple[str, ...]
    """Why it learned nothing of these, at most twenty."""


class DiscoveredList(Document):
    """The files of teams that this daemon follows, and the policies that it has discovered."""

    connections: tuple[DiscoveringConnection, ...] = ()
    """Sorted by name."""
    policies: tuple[DiscoveredPolicy, ...] = ()
    """Sorted by target."""
    files: tuple[DiscoveredFile, ...] = ()
    """Sorted by name."""
