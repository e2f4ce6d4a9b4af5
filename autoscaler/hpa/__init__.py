"""The HorizontalPodAutoscaler of Kubernetes 1.37 and nothing else: pure functions of frozen values and one `now`."""
