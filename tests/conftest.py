"""What holds for every test."""

import signal

# A shell without job control starts what it puts into the background with SIGINT ignored, and every process that a
# test starts would inherit that. The tests of Ctrl-C need what a terminal gives.
signal.signal(signal.SIGINT, signal.default_int_handler)
