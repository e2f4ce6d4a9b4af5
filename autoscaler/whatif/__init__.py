"""What another configuration would have decided: replays of the past, comparisons, searches, and cases as files.

The daemon imports nothing of this.
"""
