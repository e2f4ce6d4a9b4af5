"""Rehearsals cause a fault again and again, and check and count its promises.

`make rehearse` runs the long forms (`python -m tests.faults`), `make test` the short ones (the tests in this folder).
"""
