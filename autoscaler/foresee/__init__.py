"""The same decisions at other times: what comes next, and at which values of a metric that would change."""
