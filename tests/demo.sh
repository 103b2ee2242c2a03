#!/usr/bin/env bash
# The main job, once: record a workload, replay it on another device, compare the two. With root on
# two scratch loop devices; without it from the bundled sample onto a scratch file. Leaves nothing
# behind, whatever happens half-way. Argument: the program.
set -u
program=$(readlink -f "$1")
cd "$(dirname "$0")/.." || exit 1
work=$(mktemp -d "${TMPDIR:-/tmp}/ioreel-demo.XXXXXX")
memory=$work
[ -w /dev/shm ] && memory=$(mktemp -d /dev/shm/ioreel-demo.XXXXXX)
devices=()
children=()

clean_up() {
    local item
    for item in ${children[@]+"${children[@]}"}; do
        kill -INT "$item" 2>/dev/null
        wait "$item" 2>/dev/null
    done
    for item in ${devices[@]+"${devices[@]}"}; do
        losetup -d "$item" 2>/dev/null
    done
    rm -rf "$work" "$memory"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

fail() {
    echo "demo: $*" >&2
    exit 1
}

# faithful_or_not CODE WHAT: 0 and 3 both mean that it worked; 3 that it was not faithful.
verdicts=()
faithful_or_not() {
    case $1 in
        0) verdicts+=("$2: faithful") ;;
        3) verdicts+=("$2: not faithful (see above)") ;;
        *) fail "$2 failed (exit $1)" ;;
    esac
}

make_device() { # NAME: $device over a file full of random bytes, so that reads touch data
    head -c 268435456 /dev/urandom >"$memory/$1" || fail "cannot write $memory/$1 (256 MiB)"
    device=$(losetup -f --show "$memory/$1") || fail "cannot make a loop device"
    devices+=("$device")
}

# start_capture DEVICE FILE: in the background, $capture; returns when it records.
start_capture() {
    "$program" capture -d "$1" -o "$2" -q --json >"$2.json" 2>"$2.err" &
    capture=$!
    children+=("$capture")
    local tries
    for tries in $(seq 200); do
        [ -s "$2" ] && return 0
        kill -0 "$capture" 2>/dev/null || fail "capture ended at once: $(cat "$2.err")"
        sleep 0.05
    done
    fail "capture did not begin within 10 s"
}

stop_capture() { # sets $code
    kill -INT "$capture"
    wait "$capture"
    code=$?
    children=()
}

with_root() {
    make_device first
    local first=$device
    make_device second
    local second=$device
    echo "== 1. Record: fio on $first for 4 s, captured with eBPF"
    start_capture "$first" "$work/recorded.reel"
    fio --name=demo --filename="$first" --direct=1 --ioengine=libaio --rw=randrw --rwmixread=70 \
        --bsrange=4k-64k --iodepth=16 --rate_iops=1400,600 --rate_process=poisson --runtime=4 \
        --time_based --size=256m --randseed=7 --output-format=terse >"$work/fio.txt" 2>&1 ||
        fail "fio: $(tail -1 "$work/fio.txt")"
    sleep 0.2
    stop_capture
    faithful_or_not "$code" "capture"
    "$program" stat "$work/recorded.reel" | cut -c1-120

    echo
    echo "== 2. Replay: the same I/O at the same times on $second, captured again"
    start_capture "$second" "$work/seen.reel"
    "$program" replay "$work/recorded.reel" --target "$second" --allow-writes \
        -o "$work/replayed.reel"
    local replay_code=$?
    sleep 0.2
    stop_capture
    faithful_or_not "$replay_code" "replay"
    faithful_or_not "$code" "capture of the replay"

    echo
    echo "== 3. Compare: recorded on $first (A) with what the replay did on $second (B)"
    "$program" compare "$work/recorded.reel" "$work/seen.reel"
    faithful_or_not "$?" "compare"
    echo "(only in B: what the guard read of the target, looking for data to spare, before it let us write)"
}

without_root() {
    local sample=traces/samples/sqlite.reel
    echo "== 1. The bundled sample (recording needs root: sudo ./run demo records live)"
    "$program" stat "$sample" | cut -c1-120
    echo
    echo "== 2. Replay on a scratch file of 1 GiB"
    "$program" replay "$sample" --target "$work/scratch" --create 1g --allow-writes \
        --unwritten-ok -o "$work/replayed.reel"
    faithful_or_not "$?" "replay"
    echo
    echo "== 3. Compare the sample (A) with the replay (B)"
    "$program" compare "$sample" "$work/replayed.reel"
    faithful_or_not "$?" "compare"
    echo
    echo "Skipped without root: capture with eBPF, and replay on block devices; get them with"
    echo "  sudo ./run demo"
}

if [ "$(id -u)" = 0 ] && losetup -f >/dev/null 2>&1 && [ -e /sys/kernel/btf/vmlinux ]; then
    with_root
else
    without_root
fi
echo
printf '%s\n' "${verdicts[@]}"
echo "The pipeline worked. Next: $(basename "$program") -h, README.md, docs/"
