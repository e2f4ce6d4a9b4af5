"""Sends notices to the webhook that the configuration names."""
