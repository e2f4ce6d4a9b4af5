"""The page: what every autoscaler does and why, and the means to pause, resume and override it."""

from autoscaler.web.page.routes import pages

__all__ = ["pages"]
