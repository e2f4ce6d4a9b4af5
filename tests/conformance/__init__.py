"""The answers of the real HorizontalPodAutoscaler, and what compares `decide/` with them.

`python -m tests.conformance FILE...` runs scenario files; `scenario` describes their format.
"""
