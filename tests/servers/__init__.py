"""Real servers for tests: on free loopback ports, in the test's own folders, stopped by pid."""
