"""The only place that writes to targets."""
