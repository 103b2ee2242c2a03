#!/usr/bin/env bash
# How true replays are to a trace's times: ioreel, fio and btreplay on the same Poisson arrivals and
# the same loop device in memory, in turns. "outside" is the error of each request's issue against
# the trace, seen by a capture of the device that is the same for all three; "own" is what ioreel
# says of itself. Figures are medians.
#
#   tests/bench/replay_timing.sh [RUNS [RATE...]]      (5 runs, 2000 and 10000 IOPS, 3 s each)
set -u
source=$(cd "$(dirname "$0")/../.." && pwd)
build=${IOREEL_BUILD:-$source/build/release}
ioreel=${IOREEL:-$build/ioreel}
runs=${1:-5}
shift
[ $# -gt 0 ] || set -- 2000 10000
[ "$(id -u)" = 0 ] || { echo "needs root, for the loop device and the capture"; exit 77; }
dir=$(mktemp -d /dev/shm/ioreel-bench.XXXXXX)
device=
clean_up() {
    [ -z "$device" ] || losetup -d "$device"
    rm -rf "$dir"
}
trap clean_up EXIT
head -c 128M /dev/urandom >"$dir/image"
device=$(losetup -f --show "$dir/image") || exit 77
name=${device#/dev/}

median() { sort -g | awk '{ v[NR] = $1 } END { print NR ? v[int((NR + 1) / 2)] : "-" }'; }

# watched FILE COMMAND...: runs it under a capture of the device; appends the error to FILE. A tool
# that hangs (btreplay does, now and then) is ended, and a run of which over 1 % was not seen is left out.
watched() {
    local file=$1
    shift
    rm -f "$dir/seen.reel"
    "$ioreel" capture -q -d "$device" -o "$dir/seen.reel" -- timeout -k 1 60 "$@" >"$dir/out" 2>/dev/null
    [ "$("$ioreel" info "$dir/seen.reel" --json | jq .records)" -ge $((rate * 3 * 99 / 100)) ] || { echo "$file: left out" >&2; return; }
    "$ioreel" compare "$dir/t.reel" "$dir/seen.reel" --json 2>/dev/null |
        jq -r '[.timing_error_us.p50, .timing_error_us.p99, .drift_ns / 1000, .matched] | @tsv' >>"$file"
}

# line NAME FILE: medians of the columns.
line() {
    [ -s "$2" ] || return
    printf '%-22s %12.1f %12.1f %14.1f %9d\n' "$1" "$(cut -f1 "$2" | median)" "$(cut -f2 "$2" | median)" \
        "$(cut -f3 "$2" | tr -d - | median)" "$(cut -f4 "$2" | median)"
}

for rate in "$@"; do
    rm -f "$dir"/*.tsv
    for run in $(seq "$runs"); do
        "$build/tests/make_trace" "$dir/t.reel" count=$((rate * 3)) iops="$rate" bytes=128m seed="$run"
        "$build/tests/reel_to_blktrace" "$dir/t.reel" "$dir/$name.blktrace.0"
        "$ioreel" replay "$dir/t.reel" --target "$device" --json -q |
            jq -r '[.late_us.p50, .late_us.p99, .drift_ns / 1000, .completed] | @tsv' >>"$dir/own.tsv"
        watched "$dir/ioreel.tsv" "$ioreel" replay "$dir/t.reel" --target "$device"
        if command -v btreplay >/dev/null; then
            (cd "$dir" && btrecord -m 1000 -M 1 "$name" >/dev/null)
            watched "$dir/btreplay.tsv" btreplay -d "$dir" "$name"
        fi
        if command -v fio >/dev/null; then
            watched "$dir/fio.tsv" fio --name=r --read_iolog="$dir/$name.blktrace.0" --replay_redirect="$device" \
                --ioengine=libaio --direct=1 --iodepth=128
        fi
    done
    echo "$rate IOPS, Poisson, 3 s, $runs runs; us; drift is absolute"
    printf '%-22s %12s %12s %14s %9s\n' "" "error p50" "error p99" "drift" "matched"
    line "ioreel, own" "$dir/own.tsv"
    line "ioreel, outside" "$dir/ioreel.tsv"
    line "btreplay -M 1, outside" "$dir/btreplay.tsv"
    line "fio, outside" "$dir/fio.tsv"
    echo
done
