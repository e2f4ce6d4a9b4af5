"""Unit tests of a configuration: scenarios that the daemon's own cycle runs through on a virtual clock."""
