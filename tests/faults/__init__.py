"""Rehearsals: a fault is caused again and again, and what is promised for it is checked and counted.

`make rehearse` runs the long forms (`python -m tests.faults`), `make test` the short ones (the tests in this folder).
"""
