"""Reads Prometheus and the targets, and joins the results into one observation per autoscaler."""
