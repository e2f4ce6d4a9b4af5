"""The same decisions at other times: what was remembered then, what comes next, and at which values it would change."""
