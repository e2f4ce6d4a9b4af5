"""Merges the autoscalers' questions into few queries, and splits their answers. Pure functions.

for query in planner.plan(questions, asked_alone):  # query.expr is sent
    answers |= split(query, result)
"""
