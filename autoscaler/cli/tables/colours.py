"""The colours of what deserves attention."""

from collections.abc import Mapping
from typing import Final

from autoscaler.cli.tables.layout import GREEN, RED, YELLOW
from autoscaler.documents.level import Level

OF_LEVEL: Final[Mapping[Level, str]] = {Level.ERROR: RED, Level.WARNING: YELLOW, Level.ACTIVE: GREEN, Level.NORMAL: ""}
