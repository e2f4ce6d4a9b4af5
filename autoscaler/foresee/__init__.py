"""What the core says beyond a decision: what comes next, and what a dry run's shadow came to beside its target."""
