"""What a fleet on shared or own queries costs: `make bench-fleet`."""
