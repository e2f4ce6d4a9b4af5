"""Drains instances that leave, outside of cycles: each drain has a thread of its own.

A cycle only reads which instances wait, commits that their drains have begun, and hands them over (`Drainer.follow`).
The next cycles read what became of them (`Drainer.reports`). After a restart, or on another daemon, the first cycle
hands over what its memory has under way; actions are idempotent, and a drain's timeout counts from its beginning.
"""
