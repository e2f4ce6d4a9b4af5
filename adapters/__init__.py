"""The adapters of this package. Each is registered as an entry point, as a third party's adapter is."""
