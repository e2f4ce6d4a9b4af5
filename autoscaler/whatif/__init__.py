"""What another configuration would have decided: replays, comparisons, searches and cases.

The daemon never imports this package.
"""
