"""Real servers for tests: on free loopback ports, in folders of the test's own, stopped by pid."""
