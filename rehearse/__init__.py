"""Rehearsals cause a fault again and again, and check and count its promises.

`make rehearse` runs the long forms (`python -m rehearse`), `make rehearse ARGS=--short` the short ones.
"""
