#!/bin/sh
# What there is no time for in the tests, of the package $1: lintian, piuparts, and a second build that must be equal.
# piuparts installs, removes, upgrades and purges it in a fresh chroot, and looks for what is left behind. Needs root.
set -eu
cd "$(dirname "$0")/.."
for program in lintian piuparts mmdebstrap; do
    PATH=$PATH:/usr/sbin command -v $program >/dev/null || { echo "$program is missing; install it: apt install $program" >&2; exit 1; }
done
package=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. /etc/os-release

lintian --no-cfg --allow-root --fail-on error,warning "$package"
echo "lintian: nothing to say"

# With systemd and Python in it: what these leave of themselves when they are purged is not looked for here.
mmdebstrap --quiet --variant=minbase --include=systemd,python3 "$VERSION_CODENAME" "$work/base.tar.gz"
/usr/sbin/piuparts --basetgz "$work/base.tar.gz" --distribution "$VERSION_CODENAME" --keep-sources-list \
    --warn-on-debsums-errors --log-file "$work/piuparts.log" "$package" >/dev/null 2>&1 ||
    { tail -n 60 "$work/piuparts.log"; exit 1; }
echo "piuparts: passed"

tools/deb.sh "$work/again"
cmp "$package" "$work"/again/*.deb
echo "a second build: the same to the byte"
