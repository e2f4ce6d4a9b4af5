"""The daemon's HTTP server: health, /metrics, the `api` and the routes of the `page`."""
