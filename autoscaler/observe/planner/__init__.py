"""Merges the autoscalers' questions into few queries, and splits their answers. Pure functions.

for query in planner.plan(questions, separation.parts()):  # query.expr is sent
    answers |= split(query, result).answers
"""

from autoscaler.observe.planner.bisect import BUDGET, Bisection, Outcome, bisect, halves, refused
from autoscaler.observe.planner.explain import lines
from autoscaler.observe.planner.merge import Limits
from autoscaler.observe.planner.narrowing import Narrowing, can_be_written, narrowing
from autoscaler.observe.planner.planner import ALONE_PART, Planner
from autoscaler.observe.planner.query import PlannedQuery, alone
from autoscaler.observe.planner.separation import HEAVY_SHARE, Asked, Searched, Sent, Separation, Why
from autoscaler.observe.planner.split import Split, split

__all__ = [
    "ALONE_PART",
    "BUDGET",
    "HEAVY_SHARE",
    "Asked",
    "Bisection",
    "Limits",
    "Narrowing",
    "Outcome",
    "PlannedQuery",
    "Planner",
    "Searched",
    "Sent",
    "Separation",
    "Split",
    "Why",
    "alone",
    "bisect",
    "can_be_written",
    "halves",
    "lines",
    "narrowing",
    "refused",
    "split",
]
