"""What replaying costs, on a week of load in a real Prometheus: `make bench-replay`."""
