#!/bin/bash
# The guest's first process: mounts, loads the drivers, runs the jobs that lab.sh put into /lab/jobs
# (or gives a shell), writes the results to the last disk as a tar, and powers off. It tells lab.sh
# what it does on the second serial line, one word a line; the first one is the console.
export PATH=/bin HOME=/root TERM=linux LAB_GUEST=1
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
exec </dev/console >/dev/console 2>&1
ln -s /proc/self/fd /dev/fd
mkdir -p /dev/shm /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs -o size=1g tmpfs /tmp
mount -t bpf bpf /sys/fs/bpf
mount -t tracefs tracefs /sys/kernel/tracing
mount -t debugfs debugfs /sys/kernel/debug
ulimit -l unlimited
hostname lab
ip link set lo up
exec 9>/dev/ttyS1

. /lab/jobs
. /lab/guest_lib.sh
for module in $lab_modules; do
    modprobe "$module" || echo "lab: the module $module does not load"
done
# SCSI buses are scanned in the background; the last device to come says when all are there.
for device in $lab_slots; do
    wait_for 60 "the device ${device%=*}" node_is_there "${device%=*}"
done

# save_results: all results so far, as a tar on the disk that lab.sh reads once the guest is gone.
save_results() { tar -cf - -C /results . | dd of="/dev/$(node results)" bs=1M conv=fsync 2>/dev/null; }

run_job() { # NAME PHASE
    export LAB_SCENARIO=$1 LAB_PHASE=$2
    results=/results/$1$3
    mkdir -p "$results"
    echo "== $1 phase $2 on kernel $(uname -r)"
    # Not in a pipe: a background process that a scenario leaves must not hold up the guest.
    (
        cd "$results" || exit
        . "/lab/scenarios/$1.sh"
        guest
        lab_end
    ) >"$results/guest.log" 2>&1 </dev/null
    local status=$?
    cat "$results/guest.log"
    return $status
}

tell ready
if [ -n "$lab_shell" ]; then
    echo "The guest's devices: $(for d in $lab_slots; do echo -n "${d%=*} is /dev/$(node "${d%=*}")  "; done)"
    printf '%s\n' 'PS1="lab# "' '. /lab/jobs' '. /lab/guest_lib.sh' >/tmp/shellrc
    setsid -c bash --rcfile /tmp/shellrc -i
else
    for job in $lab_jobs; do
        IFS=: read -r name phase folder <<<"$job"
        tell begin "$name" "$phase"
        run_job "$name" "$phase" "$folder"
        status=$?
        save_results
        tell end "$name" $status
    done
fi
tell "done"
sync
poweroff -f
