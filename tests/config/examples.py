"""The examples of the configuration."""

from pathlib import Path

CONFIG = Path(__file__).parents[2] / "config"
EXAMPLES = [CONFIG / "autoscaler.yaml", CONFIG / "demo.yaml", *sorted((CONFIG / "examples").glob("*.yaml"))]
