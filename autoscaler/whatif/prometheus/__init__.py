"""One autoscaler's past from Prometheus alone."""
