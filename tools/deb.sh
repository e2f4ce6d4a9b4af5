#!/bin/sh
# deb.sh FOLDER builds the Debian package in FOLDER, for the release of Debian that this machine runs.
# The same tree gives the same package: its times are that of the last commit, or $SOURCE_DATE_EPOCH.
set -eu
umask 022 # the service's user must be able to read the files
cd "$(dirname "$0")/.."
folder=$(mkdir -p "$1" && cd "$1" && pwd)
for program in dpkg-buildpackage dh dh_installsysusers; do
    command -v $program >/dev/null || { echo "$program is missing; install it: apt install debhelper dpkg-dev" >&2; exit 1; }
done

echo "Building the package: it downloads the Python packages, installs them and compresses all (two to five minutes)" >&2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source=$work/prometheus-autoscaler
mkdir "$source"
for part in adapters autoscaler config debian docs systemd tools *.md LICENSE pyproject.toml requirements*.lock; do
    cp -R "$part" "$source"
done
find "$source" -name __pycache__ -type d -prune -exec rm -rf {} +

SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)}
export SOURCE_DATE_EPOCH
. /etc/os-release # VERSION_ID: the release of Debian
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' pyproject.toml)${DEB_VERSION_SUFFIX:-}~deb$VERSION_ID
cat >"$source/debian/changelog" <<END
prometheus-autoscaler ($version) $VERSION_CODENAME; urgency=medium

  * Built for Debian $VERSION_ID; changelog.gz in this folder lists the changes.

 -- $(sed -n 's/^Maintainer: //p' debian/control)  $(LC_ALL=C date --utc --date="@$SOURCE_DATE_EPOCH" '+%a, %d %b %Y %H:%M:%S %z')
END
sed 's|/usr/local/bin/autoscaler|/usr/bin/autoscaler|' systemd/autoscaler.service \
    >"$source/debian/prometheus-autoscaler.autoscaler.service"
cp systemd/sysusers.d/autoscaler.conf "$source/debian/prometheus-autoscaler.sysusers"
cp systemd/tmpfiles.d/autoscaler.conf "$source/debian/prometheus-autoscaler.autoscaler.tmpfiles"

(cd "$source" && dpkg-buildpackage --build=binary --no-sign --no-check-builddeps >"$work/log" 2>&1) ||
    { tail -n 40 "$work/log" >&2; exit 1; }
mv "$work"/*.deb "$folder"
ls "$folder"/prometheus-autoscaler_"$version"_*.deb
