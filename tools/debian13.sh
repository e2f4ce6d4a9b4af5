#!/bin/sh
# debian13.sh COMMAND ...: as root, run a command in this clone on Debian 13, with its Python 3.13.
# The file system is made once in .cache. Settings of pip, certificates and names are those of this machine.
set -eu
cd "$(dirname "$0")/.."
[ "$(id -u)" -eq 0 ] || { echo "Debian 13 is made and entered by root; run it as root." >&2; exit 1; }
command -v mmdebstrap >/dev/null || { echo "mmdebstrap is missing; install it: apt install mmdebstrap" >&2; exit 1; }

root=$(mkdir -p .cache && cd .cache && pwd)/debian-13
if [ ! -e "$root" ]; then
    echo "Making $root: it downloads Debian's packages (one to two minutes)" >&2
    rm -rf "$root.new"
    mmdebstrap --quiet --variant=minbase --include=ca-certificates,git,jq,make,procps,python3,python3-venv trixie "$root.new"
    mv "$root.new" "$root"
fi

# The mounts are in a namespace of their own: they end with the command.
clone=$PWD
export clone root
exec unshare --mount sh -eu -c '
    bind() { if [ -d "$1" ]; then mkdir -p "$root$1"; else touch "$root$1"; fi; mount --rbind "$1" "$root$1"; }
    for path in /dev /proc /sys /etc/hosts /etc/pip.conf /etc/resolv.conf /etc/ssl /usr/local/share/ca-certificates "$clone"; do
        if [ -e "$path" ]; then bind "$path"; fi
    done
    exec chroot "$root" sh -c "cd \"\$clone\" && exec \"\$@\"" sh "$@"
' sh "$@"
