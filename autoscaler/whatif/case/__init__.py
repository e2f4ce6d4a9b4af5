"""Cases: the inputs and decisions of an autoscaler's cycles as a file that can be sent with a bug report."""
