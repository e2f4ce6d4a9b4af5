"""What development, the tests and the demo need, and an installed autoscaler does not."""
