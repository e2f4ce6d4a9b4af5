#!/bin/sh
# Installs the daemon on a machine with systemd, or removes it: install.sh install|uninstall
# The program, its command, manual pages and completions go below $PREFIX (/usr/local); unit, user and configuration into
# /etc. With $DESTDIR everything goes below that folder, and nothing else on this machine changes.
# A second `install` is an upgrade. It never changes or removes the configuration and the state.
set -eu
umask 022 # the service's user must be able to read the files
cd "$(dirname "$0")/.."
prefix=${PREFIX:-/usr/local}
destination=${DESTDIR:-}
program=$prefix/lib/prometheus-autoscaler
configuration=/etc/autoscaler/autoscaler.yaml

say() { echo "$*" >&2; }
live() { [ -z "$destination" ] && [ -d /run/systemd/system ]; }
share=$destination$prefix/share
zsh=$share/zsh/site-functions
unit=$destination/etc/systemd/system/autoscaler.service
user=$destination/etc/sysusers.d/autoscaler.conf
folders=$destination/etc/tmpfiles.d/autoscaler.conf

case $prefix in /*) ;; *) say "PREFIX=$prefix is not an absolute path; write PREFIX=/usr/local."; exit 1 ;; esac
if [ -z "$destination" ] && [ "$(id -u)" -ne 0 ]; then
    say "Only root may install here; run it as root, or give a folder to put it below: DESTDIR=/path."
    exit 1
fi

install_all() {
    if [ -z "$destination" ] && [ "$(dpkg-query --show --showformat='${db:Status-Status}' \
        prometheus-autoscaler 2>/dev/null)" = installed ]; then
        say "The Debian package prometheus-autoscaler is installed; remove it first: apt remove prometheus-autoscaler"
        exit 1
    fi
    say "Installing into $destination$program: it downloads the Python packages and installs them (one to three minutes)"
    new=$destination$program.new # the running service uses the old one until this one is complete
    rm -rf "$new"
    mkdir -p "${new%/*}"
    tools/program.sh "$program" "$new"
    "$new/bin/python3" -m compileall -q "$new/lib"
    rm -rf "$destination$program"
    mv "$new" "$destination$program"

    "$destination$program/bin/python3" tools/extras.py "$share" "$zsh"
    mkdir -p "$destination$prefix/bin"
    ln -sf "$program/bin/autoscaler" "$destination$prefix/bin/autoscaler"
    mkdir -p "${unit%/*}" "${user%/*}" "${folders%/*}"
    sed "s|/usr/local/bin/autoscaler|$prefix/bin/autoscaler|" systemd/autoscaler.service >"$unit"
    cp systemd/sysusers.d/autoscaler.conf "$user"
    cp systemd/tmpfiles.d/autoscaler.conf "$folders"
    if [ ! -e "$destination$configuration" ]; then
        install -D -m 644 debian/autoscaler.yaml "$destination$configuration"
    fi
    if [ -z "$destination" ]; then
        systemd-sysusers "$user"
        systemd-tmpfiles --create "$folders"
    fi
    if live; then
        systemctl daemon-reload
        systemctl try-restart autoscaler
    fi
    say "Installed $("$destination$program/bin/python3" -m autoscaler --version) in $destination$program."
    say "Edit $destination$configuration, then: systemctl enable --now autoscaler"
}

uninstall_all() {
    if live && [ -e "$unit" ]; then
        systemctl disable --quiet --now autoscaler
        systemctl kill --kill-whom=all autoscaler 2>/dev/null || true # workers: no daemon would manage them
    fi
    rm -rf "$destination$program" "$destination$program.new"
    rm -f "$destination$prefix/bin/autoscaler" "$unit" "$user" "$folders" "$zsh/_autoscaler" "$share/man/man1/autoscaler.1" \
        "$share/man/man5/autoscaler.yaml.5" "$share/bash-completion/completions/autoscaler" \
        "$share/fish/vendor_completions.d/autoscaler.fish"
    if live; then systemctl daemon-reload; fi
    say "Removed. Kept: $destination/etc/autoscaler, the state in $destination/var/lib/autoscaler, the user autoscaler, and the group autoscaler-operators."
}

case ${1:-} in
    install) install_all ;;
    uninstall) uninstall_all ;;
    *) say "usage: tools/install.sh install|uninstall"; exit 2 ;;
esac
