"""Which files know a rule: a new one must not need another file."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
KNOWING = {
    "brakes": {"metrics/latest.py"},
    "drain": {
        "cli/live.py",
        "drain/drainer.py",
        "drain/http.py",
        "drain/job.py",
        "drain/nodes.py",
        "metrics/latest.py",
        "runtime/wanted.py",
    },
    "fallback": {"observe/observation.py", "scenarios/reading.py", "whatif/replay/fitting.py"},
    "manual": {"log/reporter.py", "scenarios/events.py", "web/api/steering.py"},
    "schedules": {"config/entries.py", "config/sections.py", "config/settings.py", "foresee/schedule.py"},
    "warm_up": {"whatif/prometheus/prometheus_past.py"},
}
"""By the name of the rule's file; no file knows a rule that is not listed.

Drains act outside of decisions, as manual commands and queries of fallbacks do; metrics show brakes and drains; shared
schedules are a section of the file, and `foresee` shows their next changes.
"""
GENERAL = {"bounds", "rule", "shown"}
"""Files of `rules` that know no rule."""


def _imported(file: Path) -> set[str]:
    """Return the files and packages of `rules` that a file imports from."""
    found, text = set[str](), file.read_text()
    for node in ast.walk(ast.parse(text)) if "autoscaler.rules" in text else ():
        names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [node.module, *[f"{node.module}.{each.name}" for each in node.names]]
        found |= {name.split(".")[2] for name in names if name.startswith("autoscaler.rules.")}
    rules = ROOT / "autoscaler" / "rules"
    return {name for name in found if (rules / name).is_dir() or (rules / f"{name}.py").is_file()}


def test_only_the_listed_files_name_a_rule() -> None:
    """A rule is a file, and a line in `RULES`. What is added here says why its file needs to know the rule."""
    found = defaultdict[str, set[str]](set)
    for file in (ROOT / "autoscaler").rglob("*.py"):
        where = str(file.relative_to(ROOT / "autoscaler"))
        if not where.startswith("rules/"):
            for name in _imported(file) - GENERAL:
                found[name].add(where)
    assert found == KNOWING
    assert not any(_imported(file) for file in (ROOT / "adapters").rglob("*.py"))
