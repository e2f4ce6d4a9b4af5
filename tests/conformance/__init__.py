"""The answers of the real HorizontalPodAutoscaler, and what compares `decide/` with them.

`python -m tests.conformance FILE...` runs scenario files; docs/internals/conformance.md describes their format.
"""
