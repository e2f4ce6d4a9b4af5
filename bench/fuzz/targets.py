"""The fuzzed readers, by name."""

from collections.abc import Callable
from typing import Final

from bench.fuzz.files import Configurations, Manifests, Policies, TeamFiles, Tests
from bench.fuzz.requests import Requests
from bench.fuzz.target import Target
from bench.fuzz.texts import Answers, Expressions, Programs, Quantities

TARGETS: Final[dict[str, tuple[Callable[[], Target], float]]] = {
    "quantities": (Quantities, 0.25),
    "expressions": (Expressions, 0.20),
    "answers": (Answers, 0.25),
    "programs": (Programs, 0.10),
    "configuration": (Configurations, 0.04),
    "team files": (TeamFiles, 0.04),
    "policies": (Policies, 0.04),
    "tests": (Tests, 0.02),
    "manifests": (Manifests, 0.03),
    "http": (Requests, 0.03),
}
"""Name -> what opens it, and its share of the inputs, which is smaller for slow readers."""
