"""The adapters that come with the autoscaler, each registered as an entry point like anybody else's."""
