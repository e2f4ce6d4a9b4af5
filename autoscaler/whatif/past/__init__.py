"""The past as a row of cycles, from whatever tells of it."""
