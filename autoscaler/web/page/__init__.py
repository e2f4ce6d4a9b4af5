"""The page: it shows every autoscaler's decisions, and pauses, resumes and overrides them."""

from autoscaler.web.page.routes import pages

__all__ = ["pages"]
