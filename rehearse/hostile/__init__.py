"""A good autoscaler beside hostile neighbours: `make bench-hostile`.

Faults and attacks against the promises of docs/security.md happen one after another. During each, a good autoscaler,
on the same adapter connection as the bad ones, must follow its load, and memory, log, state and page must stay small.
"""
