#!/bin/sh
# program.sh FOLDER [STAGED] makes the virtual environment of an installed daemon.
# FOLDER is where it will be used, STAGED where it is made (default: FOLDER). It has the packages of the hashed lock files,
# with the client of PostgreSQL, and the command `autoscaler`; no pip. Its Python is $PYTHON, or else Debian's.
set -eu
umask 022 # the service's user must be able to read the files
folder=$1
staged=${2:-$1}
python=${PYTHON:-/usr/bin/python3}
project=$(cd "$(dirname "$0")/.." && pwd)

say() { echo "$*" >&2; }
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    { say "$python is not Python 3.11 or newer; set PYTHON=/path/to/python3."; exit 1; }
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
    { say "$python has no venv module; install it (Debian: apt install python3-venv), then try again."; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PYTHONWARNINGS=ignore
"$python" -m venv "$work/build"
pip="$work/build/bin/python -m pip --quiet"
$pip install --require-hashes --requirement "$project/requirements-build.lock"

# Download the locked packages, check their hashes, and build those that come as source.
$pip wheel --require-hashes --no-build-isolation --use-pep517 --wheel-dir "$work/wheels" \
    --requirement "$project/requirements-postgresql.lock"
mkdir "$work/source" # setuptools leaves a build folder where it builds
for part in autoscaler adapters pyproject.toml README.md LICENSE; do cp -R "$project/$part" "$work/source"; done
$pip wheel --no-deps --no-build-isolation --wheel-dir "$work/wheels" "$work/source"

"$python" -m venv --without-pip "$staged"
$pip --python "$staged/bin/python" install --no-index --no-deps --no-compile --no-warn-script-location "$work"/wheels/*.whl

# Leave one command, with FOLDER in its first line. No file names STAGED.
for program in "$staged"/bin/*; do
    case ${program##*/} in python*) ;; autoscaler) sed -i "1s|.*|#!$folder/bin/python3|" "$program" ;; *) rm "$program" ;; esac
done
sed -i '/^command = /d' "$staged/pyvenv.cfg"
rm -f "$staged"/lib/python3.*/site-packages/*.dist-info/direct_url.json
sed -i -e '/\.dist-info\/direct_url\.json,/d' -e '/^\.\.\/.*\/bin\//d' "$staged"/lib/python3.*/site-packages/*.dist-info/RECORD # hashes of what was removed or changed here
