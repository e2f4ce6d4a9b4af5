"""What another configuration would have decided: replays and comparisons.

The daemon never imports this package.
"""
