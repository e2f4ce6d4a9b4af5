"""Converts autoscalers of other systems (Kubernetes, KEDA, Nomad) to autoscalers of the configuration."""
