"""Checks that the tests notice broken code: `make mutants` breaks one place at a time and runs the tests that cover it.

A seed chooses 33 places each in the decision pipeline, the observer and the ledger: comparisons, sums, conditions,
small numbers. A test that fails must pass again without the mutant: else it is left out, since it says nothing about
the mutant. The exit code is 1 if the tests find fewer than nine in ten of a room's mutants of a seed.
ARGS="--seed 2" chooses other places, ARGS="--room observe" breaks one room. A change of the code leaves a seed's other
places as they are, so a seed can be tried again.
"""
