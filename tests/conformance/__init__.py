"""The answers of the real HorizontalPodAutoscaler, and what compares decisions with them.

`python -m tests.conformance FILE...` runs scenario files; `scenario` describes their format.
"""
