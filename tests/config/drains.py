"""A file with a drain."""

METRIC = "{type: External, external: {metric: {name: q}, query: {expr: q}, target: {type: Value, value: 1}}}"


def text(drain: str, adapter: str = "fleet") -> str:
    """A file with one autoscaler of a connection that is called as its type, and this drain."""
    return "\n".join(
        [
            "adapters:",
            "  fleet: {type: aws-asg, region: eu-west-1}",
            "  nomad: {type: nodes}",
            "  local: {type: process, pools: {web: {command: sleep 1}}}",
            "autoscalers:",
            "  - name: web",
            f"    scaleTargetRef: {{adapter: {adapter}, name: {'a/web' if adapter == 'nomad' else 'web'}}}",
            "    maxReplicas: 3",
            f"    metrics: [{METRIC}]",
            f"    drain: {drain}",
        ]
    )
