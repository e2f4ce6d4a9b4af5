"""What the core says beyond a decision: what comes next."""
