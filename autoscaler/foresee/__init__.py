"""The same decisions at other times: what comes next, and what the past would have been with other values."""
