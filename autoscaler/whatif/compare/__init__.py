"""Candidates over one past: measures, and the document with which the terminal, programs and the report show them."""
