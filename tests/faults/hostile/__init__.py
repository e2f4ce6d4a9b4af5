"""A good autoscaler beside hostile neighbours: `make bench-hostile`.

One daemon runs through every bad day of docs/security.md, one after another. On each day a good autoscaler, on the
same adapter connection as the bad ones, must follow its load, and memory, log, state and page must stay small.
"""
