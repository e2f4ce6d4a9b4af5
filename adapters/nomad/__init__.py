"""Nomad: sets the count of a job's group, over Nomad's HTTP API.

The API is spoken with `requests` and not with python-nomad: that client has no scale request, one namespace for all
it asks, hides the header that pages are turned with, puts job ids into paths unquoted, and bounds no reply as a whole.
"""

from adapters.nomad.adapter import Nomad

__all__ = ["Nomad"]
