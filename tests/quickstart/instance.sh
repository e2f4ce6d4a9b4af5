#!/bin/sh
# instance.sh launch NAME ADDRESS USER-DATA, instance.sh end NAME: an EC2 instance as far as a quickstart sees it. It has a
# network of its own with that address, which this machine reaches, and runs its user data (a shell script) as root, once
# (EC2 User Guide, user-data).
set -e
name=$2
outside=10.255.255.254
if [ "$1" = end ]; then
    ip netns pids "$name" | xargs -r kill -9
    exec ip netns delete "$name"
fi
ip netns add "$name"
ip link add "$name" type veth peer name eth0 netns "$name"
ip link set "$name" up
ip address add "$outside" dev "$name"
ip route add "$3" dev "$name" src "$outside"
ip -n "$name" link set lo up
ip -n "$name" link set eth0 up
ip -n "$name" address add "$3" dev eth0
ip -n "$name" route add "$outside" dev eth0
exec ip netns exec "$name" sh -c 'mount -t tmpfs tmpfs /srv && exec bash "$1"' sh "$4"
