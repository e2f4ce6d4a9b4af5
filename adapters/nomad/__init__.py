"""The adapter of type `nomad`: it sets the count of a task group over Nomad's HTTP API.

It uses `requests`. python-nomad has no scale request, one namespace for all requests, hides the paging header, does not
quote job ids in paths, and does not bound a reply.
"""

from adapters.nomad.adapter import Nomad

__all__ = ["Nomad"]
