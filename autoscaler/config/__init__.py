"""The configuration: reads one YAML file and returns checked settings with defaults."""
