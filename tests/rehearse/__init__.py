"""The parts of rehearsals that are tested by themselves."""
