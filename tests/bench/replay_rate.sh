#!/usr/bin/env bash
# How fast a trace is replayed, and at what cost: ioreel --timing fast, fio's read_iolog and fio's own
# random reads (no trace at all: what the engine can do), 4 KiB reads at depth 128 on the same loop
# device in memory, in turns. CPU is user and system time of the whole command, so fio's loading of
# the log is in it, and so is ioreel's survey. Figures are medians.
#
#   tests/bench/replay_rate.sh [RUNS [COUNT]]      (3 runs, 1000000 I/Os)
set -u
source=$(cd "$(dirname "$0")/../.." && pwd)
build=${IOREEL_BUILD:-$source/build/release}
ioreel=${IOREEL:-$build/ioreel}
runs=${1:-3}
count=${2:-1000000}
[ "$(id -u)" = 0 ] || { echo "needs root, for the loop device"; exit 77; }
dir=$(mktemp -d /dev/shm/ioreel-bench.XXXXXX)
device=
clean_up() {
    [ -z "$device" ] || losetup -d "$device"
    rm -rf "$dir"
}
trap clean_up EXIT
head -c 256M /dev/urandom >"$dir/image"
device=$(losetup -f --show "$dir/image") || exit 77
"$build/tests/make_trace" "$dir/t.reel" count="$count" iops=100000 bytes=256m
"$build/tests/reel_to_blktrace" "$dir/t.reel" "$dir/t.blktrace.0"

median() { sort -g | awk '{ v[NR] = $1 } END { print NR ? v[int((NR + 1) / 2)] : "-" }'; }

# timed NAME IOPS-FILTER COMMAND...: appends IOPS, CPU us an I/O and elapsed s to NAME.log.
TIMEFORMAT='%U %S %R'
timed() {
    local name=$1 filter=$2
    shift 2
    { time "$@" >"$dir/json" 2>/dev/null; } 2>"$dir/usage"
    echo "$(jq -r "$filter" "$dir/json") $(cat "$dir/usage")" |
        awk -v n="$count" '{ printf "%d\t%.3f\t%.2f\n", $1, ($2 + $3) / n * 1e6, $4 }' >>"$dir/$name.log"
}

for _ in $(seq "$runs"); do
    timed ioreel .iops "$ioreel" replay "$dir/t.reel" --target "$device" --timing fast --depth 128 --json
    "$ioreel" replay "$dir/t.reel" --target "$device" --timing fast --depth 128 --json 2>/dev/null |
        jq .cpu.us_per_io >>"$dir/loop.log"
    rm -f "$dir/r.reel"
    timed ioreel_o .iops "$ioreel" replay "$dir/t.reel" --target "$device" --timing fast --depth 128 --json \
        -o "$dir/r.reel"
    command -v fio >/dev/null || continue
    timed fio_log '.jobs[0].read.iops' fio --name=r --read_iolog="$dir/t.blktrace.0" --replay_redirect="$device" \
        --replay_no_stall=1 --ioengine=io_uring --direct=1 --iodepth=128 --output-format=json
    timed fio_random '.jobs[0].read.iops' fio --name=r --filename="$device" --rw=randread --bs=4k \
        --ioengine=io_uring --fixedbufs=1 --registerfiles=1 --norandommap=1 --gtod_reduce=1 --direct=1 \
        --iodepth=128 --number_ios="$count" --size=256m --io_size=$((count * 4096)) --output-format=json
done

echo "$count reads of 4 KiB, depth 128, loop device in memory, $runs runs"
printf '%-36s %10s %14s %10s\n' "" "IOPS" "CPU us an I/O" "whole, s"
line() {
    [ -s "$dir/$2.log" ] || return
    printf '%-36s %10d %14.2f %10.2f\n' "$1" "$(cut -f1 "$dir/$2.log" | median)" \
        "$(cut -f2 "$dir/$2.log" | median)" "$(cut -f3 "$dir/$2.log" | median)"
}
line "ioreel replay" ioreel
line "ioreel replay with its result trace" ioreel_o
line "fio read_iolog, io_uring" fio_log
line "fio randread, io_uring" fio_random
echo "ioreel's own account of its loop: $(median <"$dir/loop.log") us an I/O"
