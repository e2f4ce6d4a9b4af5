"""The past of an autoscaler as a sequence of cycles."""
