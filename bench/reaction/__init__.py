"""The time from a rise of load to the first sample of the first new instance."""
