"""Inputs by the million into everything that reads what others wrote: no crash, no hang, memory bounded."""
