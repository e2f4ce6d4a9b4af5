#!/bin/bash
# Installs the servers that the tests start themselves, as far as they can be had, and says what is there.
# Needs root for Debian's packages. Nothing is started. Exit 0 also when one is missing: its tests then say so.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
export DEBIAN_FRONTEND=noninteractive

have() { PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null; }
postgres() { compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; }
python() { if [ -x .venv/bin/python ]; then .venv/bin/python "$@"; else python3 "$@"; fi; }

cleanup=(:)
trap 'for one in "${cleanup[@]}"; do eval "$one"; done' EXIT

if ! have nomad && have go; then
    echo "Building Nomad, unless that is done (minutes)" >&2
    python -m tools.nomad >/dev/null 2>&1 & # beside what follows; the line that names it waits for it
    cleanup+=("kill $! 2>/dev/null")
fi

wanted=()
have dockerd || wanted+=(docker.io)
{ have busybox && ! ldd "$(command -v busybox)" >/dev/null 2>&1; } || wanted+=(busybox-static) # images hold it alone
postgres || wanted+=(postgresql)
have pgbouncer || wanted+=(pgbouncer)
have systemd-analyze || wanted+=(systemd)
have systemd-nspawn || wanted+=(systemd-container)
have mmdebstrap || wanted+=(mmdebstrap)
have umoci || wanted+=(umoci)
have skopeo || wanted+=(skopeo)
have sshd || wanted+=(openssh-server)
have ssh || wanted+=(openssh-client)
have chromium || wanted+=(chromium)
have aws || wanted+=(awscli)
have nginx || wanted+=(nginx)
have caddy || wanted+=(caddy)
have victoria-metrics || wanted+=(victoria-metrics)
have jq || wanted+=(jq)
/usr/bin/python3 -c 'import ensurepip, venv' 2>/dev/null || wanted+=(python3-venv) # what the Debian package is made with
have dh_installsysusers && have dpkg-buildpackage || wanted+=(debhelper)
have lintian || wanted+=(lintian)
have stress-ng || wanted+=(stress-ng) # keeps the machine busy for make test-loaded
have zsh || wanted+=(zsh)
have fish || wanted+=(fish)

if [ ${#wanted[@]} -gt 0 ]; then
    if [ "$(id -u)" -ne 0 ] || ! have apt-get; then
        echo "Not root, or no apt-get here: not installed: ${wanted[*]}"
    else
        policy=/usr/sbin/policy-rc.d # while it answers 101, Debian's packages start no service
        if [ ! -e $policy ]; then
            printf '#!/bin/sh\nexit 101\n' >$policy && chmod +x $policy
            cleanup+=("rm -f $policy")
        fi
        echo "Installing ${wanted[*]}"
        said=$(apt-get -qq update 2>&1) || echo "$said"
        for package in "${wanted[@]}"; do # one at a time: what cannot be had keeps nothing else away
            said=$(apt-get -qq -y --no-install-recommends install "$package" 2>&1) ||
                printf 'apt-get could not install %s:\n%s\n' "$package" "$said"
            # They take ports 80 and 8428 at the next boot otherwise.
            case $package in nginx | caddy | victoria-metrics) ! have systemctl || systemctl --quiet disable "$package" ;; esac
        done
    fi
fi

line() { printf '  %-16s %s\n' "$1" "$2"; }
found() { PATH=$PATH:/usr/sbin:/sbin command -v "$1" || echo "absent: $2"; }
echo "Servers for the tests:"
line prometheus "$(python -m tools.prometheus 2>&1 | head -n 1)"
line dockerd "$(found dockerd 'apt install docker.io')"
line busybox "$(found busybox 'apt install busybox-static')"
line nomad "$(python -m tools.nomad 2>&1 | tail -n 1)"
line postgresql "$(compgen -G '/usr/lib/postgresql/*/bin/initdb' || echo 'absent: apt install postgresql')"
line pgbouncer "$(found pgbouncer 'apt install pgbouncer')"
line systemd "$(found systemd-analyze 'apt install systemd')"
line nspawn "$(found systemd-nspawn 'apt install systemd-container')"
line sshd "$(found sshd 'apt install openssh-server')"
line chromium "$(found chromium 'apt install chromium')"
line debhelper "$(found dh_installsysusers 'apt install debhelper')"
line lintian "$(found lintian 'apt install lintian')"
line zsh "$(found zsh 'apt install zsh')"
line fish "$(found fish 'apt install fish')"
line mmdebstrap "$(found mmdebstrap 'apt install mmdebstrap')"
line umoci "$(found umoci 'apt install umoci')"
line skopeo "$(found skopeo 'apt install skopeo')"
line aws "$(found aws 'apt install awscli')"
line nginx "$(found nginx 'apt install nginx')"
line caddy "$(found caddy 'apt install caddy')"
line victoria-metrics "$(found victoria-metrics 'apt install victoria-metrics')"
line jq "$(found jq 'apt install jq')"
