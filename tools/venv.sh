#!/bin/sh
# Makes the virtual environment $1 with Python 3.11 or newer, python3.11 first; $PYTHON goes before all.
set -eu

suitable() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }
complete() { "$1" -c 'import ensurepip, venv' 2>/dev/null; } # Debian keeps these in python3-venv
say() { echo "$*" >&2; }

make_with() {
    echo "Making $2 with $("$1" --version)"
    exec "$1" -m venv "$2"
}

bare=
for python in "${PYTHON:-}" python3.11 /usr/bin/python3.11 python3 /usr/bin/python3 python3.12 python3.13; do
    if [ -n "$python" ] && suitable "$python"; then
        if complete "$python"; then make_with "$python" "$1"; fi
        bare=${bare:-$python}
    fi
done
if [ -z "$bare" ]; then
    say "No Python 3.11 or newer is on PATH; install it (Debian 12: apt install python3 python3-venv)."
    exit 1
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null || [ ! -x /usr/bin/python3 ]; then
    say "$bare has no venv module; install it (Debian: sudo apt install python3-venv), then try again."
    exit 1
fi
echo "Installing python3-venv, which $bare lacks"
said=$(apt-get -qq update && DEBIAN_FRONTEND=noninteractive \
    apt-get -qq -y --no-install-recommends install python3-venv 2>&1) || { say "$said"; exit 1; }
make_with /usr/bin/python3 "$1"
