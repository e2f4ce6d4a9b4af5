"""A library for exchanges with one peer under one deadline, for files and for programs.

`autoscaler.net.session` has the session for requests, whose import takes a tenth of a second; what `autoscaler check`
loads may import all the others. `autoscaler.net.connection` has the session's connections, for client libraries with
their own HTTP. Adapters find it as `http`, `files` and `programs` of `autoscaler.target`.
"""
