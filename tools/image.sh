#!/bin/sh
# image.sh DEB FOLDER makes an OCI image of the Debian package in FOLDER. mmdebstrap and umoci need root.
# The image has the package and what it needs of Debian: Python, its libraries, certificates. It has no shell and no apt.
set -eu
umask 022 # the service's user must be able to read the files
deb=$1
folder=$2
for program in mmdebstrap umoci skopeo; do
    command -v $program >/dev/null ||
        { echo "$program is missing; install it: apt install mmdebstrap umoci skopeo" >&2; exit 1; }
done
. /etc/os-release # VERSION_CODENAME: the release of Debian that the package is for
version=$(dpkg-deb --field "$deb" Version)
version=${version%%~*}
file=$folder/prometheus-autoscaler-$version-oci.tar
mkdir -p "$folder"

echo "Making the image: it downloads Debian's packages (one to three minutes)" >&2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir "$root"

# Unpacked, not installed: the packages' own scripts would need a shell.
mmdebstrap --quiet --variant=extract \
    --include=python3-minimal,libpython3-stdlib,libstdc++6,ca-certificates,tzdata,media-types,netbase \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    "$VERSION_CODENAME" "$root"
dpkg-deb --fsys-tarfile "$deb" | tar -xf - -C "$root" --no-same-owner \
    --exclude=./usr/share/man --exclude='./usr/share/doc/*/examples' --exclude=./usr/share/bash-completion \
    --exclude=./usr/share/zsh --exclude=./usr/share/fish --exclude=./lib/systemd --exclude=./usr/lib/sysusers.d \
    --exclude=./usr/lib/tmpfiles.d
cat "$root"/usr/share/ca-certificates/mozilla/*.crt >"$root/etc/ssl/certs/ca-certificates.crt"
find "$root/usr/bin" ! -name 'python3*' ! -name autoscaler ! -type d -delete
(
    cd "$root"
    rm -rf bin sbin usr/sbin dev etc/apt etc/cron.daily etc/logrotate.d usr/share/ca-certificates usr/share/perl* usr/lib/*/perl* \
        usr/share/debconf usr/share/dpkg usr/lib/dpkg var/cache var/log var/lib/apt var/lib/dpkg/info # status: for scanners
    rm etc/autoscaler/autoscaler.yaml # without a mounted one, the daemon says that it is missing
    mkdir -p var/lib/autoscaler run/autoscaler
)
# The root is read-only where it runs: what Python would cache is made here.
python=$(cd "$root/usr/bin" && readlink python3)
"/usr/bin/$python" -m compileall -q --invalidation-mode unchecked-hash -s "$root" -p / \
    "$root/usr/lib/$python" "$root/usr/lib/prometheus-autoscaler"

# Not root, and a number, so that `runAsNonRoot` and the like can tell.
echo 'autoscaler:x:65532:65532:autoscaler:/var/lib/autoscaler:/sbin/nologin' >"$root/etc/passwd"
echo 'autoscaler:x:65532:' >"$root/etc/group"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
chown 65532:65532 "$root/var/lib/autoscaler" "$root/run/autoscaler"
chmod 0700 "$root/var/lib/autoscaler"
find "$root" -newermt "@${SOURCE_DATE_EPOCH:-$(stat -c %Y "$deb")}" \
    -exec touch --no-dereference --date="@${SOURCE_DATE_EPOCH:-$(stat -c %Y "$deb")}" {} +

layout=$work/layout
umoci init --layout "$layout" >/dev/null
umoci new --image "$layout:$version"
umoci insert --image "$layout:$version" "$root" /
umoci config --image "$layout:$version" --config.user 65532:65532 --config.workingdir /var/lib/autoscaler \
    --config.env PATH=/usr/bin --config.env STATE_DIRECTORY=/var/lib/autoscaler \
    --config.env RUNTIME_DIRECTORY=/run/autoscaler \
    --config.volume /var/lib/autoscaler --config.volume /run/autoscaler --config.exposedports 9797/tcp --config.stopsignal SIGTERM \
    --config.entrypoint /usr/bin/autoscaler \
    --config.cmd run --config.cmd --web.listen-address=0.0.0.0:9797 \
    --config.label org.opencontainers.image.title=prometheus-autoscaler \
    --config.label "org.opencontainers.image.version=$version" \
    --config.label org.opencontainers.image.licenses=Apache-2.0
rm -f "$file"
skopeo --insecure-policy copy --quiet "oci:$layout:$version" "oci-archive:$file:prometheus-autoscaler:$version"
echo "$file"
