"""The HorizontalPodAutoscaler's decision pipeline for targets outside Kubernetes."""
