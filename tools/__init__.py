"""Tools for development, tests and the demo, which an installed autoscaler does not need."""
