"""What replaying and tuning cost, on a week of load in a real Prometheus: `make bench-replay`."""
