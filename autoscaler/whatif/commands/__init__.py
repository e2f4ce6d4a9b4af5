"""The command that looks at the past and at candidates: replay."""
