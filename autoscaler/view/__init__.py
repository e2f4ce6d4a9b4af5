"""Typed documents that the terminal, the page and the HTTP API show: pure functions of recorded values.

Each document has a file; `reads` makes documents from the state. This file imports nothing, so that a command
loads only the documents that it shows.
"""
