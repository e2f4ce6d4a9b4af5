"""Cases: files with the inputs and decisions of an autoscaler, for a bug report."""
