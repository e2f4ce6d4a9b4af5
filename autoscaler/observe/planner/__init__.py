"""Merges what is asked for one autoscaler each into few queries, and splits their answers again. Pure; asks nobody.

plan = planner.plan(questions, apart.parts())
for query in plan.queries:            # query.expr is sent
    answers |= split(query, result).answers
"""

from autoscaler.observe.planner.apart import HEAVY_SHARE, Apart, Asked, Searched, Sent, Why
from autoscaler.observe.planner.bisect import BUDGET, Bisection, Outcome, bisect, refused
from autoscaler.observe.planner.explain import lines
from autoscaler.observe.planner.merge import Limits
from autoscaler.observe.planner.narrowing import Narrowing, can_be_written, narrowing
from autoscaler.observe.planner.planner import APART, Planner
from autoscaler.observe.planner.query import Plan, PlannedQuery, alone
from autoscaler.observe.planner.split import Split, split

__all__ = [
    "APART",
    "BUDGET",
    "HEAVY_SHARE",
    "Apart",
    "Asked",
    "Bisection",
    "Limits",
    "Narrowing",
    "Outcome",
    "Plan",
    "PlannedQuery",
    "Planner",
    "Searched",
    "Sent",
    "Split",
    "Why",
    "alone",
    "bisect",
    "can_be_written",
    "lines",
    "narrowing",
    "refused",
    "split",
]
