"""`make run`: a real Prometheus drives real worker processes from one to several and back. Not part of the package."""
