"""The daemon's own metrics, for Prometheus. Their help texts are the site's list of metrics."""
