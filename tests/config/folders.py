"""Teams' folders."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from autoscaler.config.origins import origins_of
from autoscaler.config.settings import Settings
from autoscaler.config.team_files import look
from autoscaler.config.teams import follow


def scaler(name: str, adapter: str = "swarm", query: str = "q", **more: Any) -> dict[str, Any]:
    metric = {
        "metric": {"name": "q"},
        "query": {"expr": query, "prometheus": name.partition("-")[0]},
        "target": {"type": "Value", "value": 1},
    }
    target = {"scaleTargetRef": {"adapter": adapter, "name": name}}
    return {"name": name, **target, "maxReplicas": 3, "metrics": [{"type": "External", "external": metric}], **more}


class Folders:
    """A main file with two teams, and their folders."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "autoscaler.yaml"
        self.teams = folder / "autoscalers.d"
        self.grants: dict[str, dict[str, Any]] = {
            team: {
                "namePrefix": f"{team}-",
                "maxReplicas": 20,
                "adapters": ["swarm"],
                "targets": [f"{team}-*"],
                "sources": [team],
                "maxQueries": 10,
            }
            for team in ("pay", "shop")
        }
        for team in self.grants:
            (self.teams / team).mkdir(parents=True)
        self.main()

    def main(self, *scalers: Mapping[str, Any]) -> None:
        document = {
            "prometheus": {name: {"url": f"http://{name}"} for name in ("default", "main", "shop", "pay", "web")},
            "adapters": {"swarm": {"type": "docker-swarm"}},
            "autoscalersDir": "autoscalers.d",
            "grants": self.grants,
            "autoscalers": list(scalers),
        }
        self.path.write_text(yaml.safe_dump(document, sort_keys=False))

    def write(self, team: str, file: str, *scalers: Mapping[str, Any]) -> Path:
        return self.text(team, file, yaml.safe_dump(list(scalers), sort_keys=False))

    def text(self, team: str, file: str, text: str) -> Path:
        path = self.teams / team / file
        path.write_text(text)
        return path

    def after(self, before: Settings) -> Settings:
        """The settings with what the folders have now."""
        return follow(origins_of(before), look(self.teams, before.grants)).joined()


def names(settings: Settings) -> list[str]:
    return [each.name for each in settings.autoscalers]
