# Captures that cannot start: one line that names the thing, the right exit code, and no file made.
source "$(dirname "$0")/lib.sh"

refused() { # NAME CODE PATTERN ARGUMENTS...
    local name=$1 want=$2 pattern=$3
    shift 3
    expect "$want" "$IOREEL" capture "$@"
    check_one_line "$name"
    check_match "$name" "$talk" "$pattern"
    check "$name: stdout is empty" "$out" ""
    check "$name: no file is made" "$(ls "$scratch" | wc -l)" 0
}

trace=$scratch/x.reel
refused "no device" 2 "-d" -o "$trace"
refused "no output" 2 "-o" -d /dev/loop0
refused "no such device" 1 "/dev/no-such-disk.*no such device" -d /dev/no-such-disk -o "$trace"
refused "no such name" 1 "nosuchdisk.*no such device" -d nosuchdisk -o "$trace"
refused "a file" 1 "/etc/passwd.*not a block device" -d /etc/passwd -o "$trace"
refused "a character device" 1 "/dev/null.*not a block device" -d /dev/null -o "$trace"
refused "unknown accounting" 2 "guess" -d /dev/loop0 -o "$trace" --accounting guess
refused "a zstd level" 2 "1 to 22" -d /dev/loop0 -o "$trace" --level 23
refused "a duration of 0" 2 "duration" -d /dev/loop0 -o "$trace" --duration 0
refused "a duration of words" 2 "soon" -d /dev/loop0 -o "$trace" --duration soon
refused "a buffer too large" 2 "1 GiB" -d /dev/loop0 -o "$trace" --buffer 2g
refused "both on stdout" 2 "stdout" -d /dev/loop0 -o - --json
[ -b /dev/zram0 ] && refused "a device without requests" 1 "zram0.*block requests" -d /dev/zram0 -o "$trace"

need_loop
make_loop 16M
if [ -e /sys/kernel/btf/vmlinux ]; then
    touch "$scratch/there.reel"
    expect 1 "$IOREEL" capture -d "$loop_device" -o "$scratch/there.reel" --duration 1
    check_one_line "an output that exists"
    check_match "an output that exists" "$talk" "exists already.*--overwrite-output"
    rm "$scratch/there.reel"
    refused "no folder for the output" 1 "No such file" -d "$loop_device" -o "$scratch/a/b.reel" --duration 1
fi
# Without the rights: as root, all but the named capabilities are dropped first.
if command -v capsh >/dev/null 2>&1; then
    expect 1 capsh --drop=cap_bpf,cap_perfmon,cap_sys_admin -- -c \
        "exec '$IOREEL' capture -d $loop_device -o $trace"
    check_match "no rights" "$talk" "CAP_BPF and CAP_PERFMON.*both are missing"
    expect 1 capsh --drop=cap_perfmon,cap_sys_admin -- -c \
        "exec '$IOREEL' capture -d $loop_device -o $trace"
    check_match "one right" "$talk" "CAP_PERFMON is missing"
    check "no rights: no file is made" "$(ls "$scratch" | wc -l)" 0
fi
finish
