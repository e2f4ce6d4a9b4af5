"""The colours of levels of attention."""

from collections.abc import Mapping
from typing import Final

from autoscaler.documents.level import Level
from autoscaler.layout import GREEN, RED, YELLOW

OF_LEVEL: Final[Mapping[Level, str]] = {Level.ERROR: RED, Level.WARNING: YELLOW, Level.ACTIVE: GREEN, Level.NORMAL: ""}
