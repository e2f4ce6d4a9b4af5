"""Merges the autoscalers' questions into few queries, and splits their answers. Pure functions.

for query in planner.plan(questions, asked_alone):  # query.expr is sent
    answers |= split(query, result)
"""

from autoscaler.observe.planner.merge import Limits
from autoscaler.observe.planner.outcome import Outcome, refused
from autoscaler.observe.planner.planner import Planner
from autoscaler.observe.planner.query import PlannedQuery, alone
from autoscaler.observe.planner.split import split

__all__ = [
    "Limits",
    "Outcome",
    "PlannedQuery",
    "Planner",
    "alone",
    "refused",
    "split",
]
