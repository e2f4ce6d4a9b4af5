"""What the terminal, the page and the HTTP API show, as typed documents: pure functions of recorded values.

One file for each document; `library` makes them from the state. Nothing is imported here, so that a command only
loads what it shows.
"""
