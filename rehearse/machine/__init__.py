"""Faults of the daemon's machine: its clock, its sleep, its disk and the state on it.

`python -m rehearse --only machine --case disk` rehearses some of it by itself.
"""
