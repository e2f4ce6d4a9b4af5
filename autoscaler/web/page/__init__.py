"""The page: it shows every autoscaler's decisions, and pauses, resumes and overrides them."""
