"""Prints the packages of its Python: a line with name, version and licence for each."""

import sys
from email.message import Message
from importlib.metadata import distributions
from typing import cast


def licence(metadata: Message) -> str:
    """Return the licence in the package's metadata: an SPDX expression, else a text, else its classifiers (PEP 639)."""
    for key in ("License-Expression", "License"):
        text = metadata.get(key, "").strip()
        if text and "\n" not in text:  # some have the whole text there
            return text
    classifiers = metadata.get_all("Classifier", [])
    named = [line.rpartition(" :: ")[2] for line in classifiers if line.startswith("License ::")]
    return ", ".join(named) or "see its folder"


if __name__ == "__main__":
    every = (cast("Message", one.metadata) for one in distributions())
    rows = sorted((str(one["Name"]), str(one["Version"]), licence(one)) for one in every)
    sys.stdout.writelines(f"{name:<28}{version:<16}{said}\n" for name, version, said in rows)
