"""What the process that copies.py copies has done: all imports of a daemon, and the types of its configuration."""

import gc
import importlib
import sys
from pathlib import Path

from autoscaler.__main__ import _UNUSED
from autoscaler.config.loader import load
from autoscaler.target import registry

for unused in _UNUSED:
    sys.modules.setdefault(unused, None)  # type: ignore[arg-type]  # as the program does
for needed in ("daemon", "cli.run", "web.server", "web.page.routes", "web.sources"):
    importlib.import_module(f"autoscaler.{needed}")
for example in ("memory", "process"):
    load(Path(__file__).parents[2] / "config" / "examples" / f"{example}.yaml")
registry.installed.cache_clear()  # a copy may have another adapter
gc.collect()
gc.freeze()  # a collection in a copy would write to every page that it shares
