"""What the programs for clouds share: the daemon's messages, deadlines, errors, and readiness by `up`.

Install this file in the folder of the programs. With READY in their environment, a query such as up{job="web"} == 1, a
running machine is ready when the answer has a sample whose label `instance` is one of its identities, with or without
a port. PROMETHEUS_URL names the Prometheus to ask.
"""

import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache

REQUEST = json.load(sys.stdin)
UNTIL = time.monotonic() + 0.75 * REQUEST["secondsLeft"]  # the rest is for the answer, on a busy host, too


class Failed(Exception):
    """What failed. `error` is the message's word for it; "": the patterns of `answer` find one, else Unavailable."""

    def __init__(self, message, error=""):
        super().__init__(message)
        self.error = error


def run(*words):
    """Return what the tool prints. Raises Failed with the tool's own words."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=max(0, UNTIL - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise Failed(f"{' '.join(words[:3])} did not answer in time; choose a longer syncPeriod") from None
    except FileNotFoundError:
        raise Failed(f"{words[0]} is not installed, or not in the PATH of `env`; install it") from None
    if done.returncode:
        raise Failed(" ".join((done.stderr or done.stdout).split()) or f"{words[0]} exited with {done.returncode}")
    return done.stdout


def listed(*words):
    """Return the list that the tool prints; null is an empty one. Anything else must not look like no machines."""
    found = json.loads(run(*words))
    if not isinstance(found, list | None):
        raise TypeError(f"{words[0]} printed no list")
    return found or []


def answer(errors, state, resize):
    """Answer the request. `state(target)` returns the answer for one target, `resize(target, change)` an outcome.

    `errors`: an error of the messages -> the pattern of the tool's words for it.
    """

    def failed(error):
        matching = (word for word, pattern in errors.items() if re.search(pattern, str(error), re.IGNORECASE))
        return {"error": error.error or next(matching, "Unavailable"), "message": str(error)}

    def observed(target):  # no answer for one target costs another
        try:
            return {"target": target, **with_readiness(state(target))}
        except Failed as error:
            return {"target": target, **failed(error)}
        except Exception as error:
            return {"target": target, **failed(Failed(f"an answer is not as documented ({error!r})", "Unavailable"))}

    if sys.argv[1] == "observe":
        with ThreadPoolExecutor(8) as threads:
            print(json.dumps({"targets": list(threads.map(observed, REQUEST["targets"]))}))
    else:
        try:
            print(json.dumps(resize(REQUEST["target"], REQUEST["change"])))
        except Failed as error:
            print(json.dumps(failed(error)))


def with_readiness(state):
    """Return the state, in which READY decides about each running instance whose readiness the cloud does not know."""
    if "READY" in os.environ:
        up = names_up()
        for instance in state["instances"]:
            if instance["phase"] == "Running" and instance.get("ready") is None:
                instance["ready"] = not up.isdisjoint([instance["name"], *instance["identities"]])
    return state


@cache
def names_up():
    """Return the `instance` labels of READY, as they are and without their ports."""
    from urllib.parse import urlencode  # not above: these two take as long to load as all the rest
    from urllib.request import urlopen

    query = urlencode({"query": os.environ["READY"]})
    url = f"{os.environ.get('PROMETHEUS_URL', 'http://localhost:9090')}/api/v1/query?{query}"
    try:
        with urlopen(url, timeout=max(0.001, UNTIL - time.monotonic())) as response:
            labels = [sample["metric"].get("instance", "") for sample in json.load(response)["data"]["result"]]
    except OSError as error:  # no answer would make all machines unready
        raise Failed(f"Prometheus does not say which machines are up: {error}", "Unavailable") from None
    return {name for label in labels for name in (label, label.rpartition(":")[0].strip("[]"))}
