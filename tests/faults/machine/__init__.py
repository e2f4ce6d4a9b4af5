"""What may happen to the machine that the daemon runs on: to its clock, its sleep, its disk, the state that lies there.

`python -m tests.faults.machine --case disk` rehearses some of it by itself.
"""
