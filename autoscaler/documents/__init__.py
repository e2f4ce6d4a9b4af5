"""What the terminal, the page and the HTTP API show, as typed documents: pure functions of recorded values.

A file a document; `library` makes them from the state. Nothing is imported here, so that a command loads what it shows.
"""
