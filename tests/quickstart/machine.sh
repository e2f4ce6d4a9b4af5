#!/bin/sh
# machine.sh WORK FOLDER...: the first process of a quickstart's machine, in namespaces of its own. Keeps changes of the
# folders in memory, says in WORK/ready that it is, and collects what other processes leave behind until it is ended.
set -e
work=$1
shift
ip link set lo up
mount -t tmpfs tmpfs "$work/changes"
for folder; do
    changes=$work/changes$folder
    mkdir -p "$changes/upper" "$changes/work"
    mount -t overlay overlay -o "lowerdir=$folder,upperdir=$changes/upper,workdir=$changes/work" "$folder"
done
touch "$work/ready"
sleep infinity &
wait
