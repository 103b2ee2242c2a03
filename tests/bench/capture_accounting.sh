#!/usr/bin/env bash
# Is every request accounted for? Captures of a loop device that two fio jobs saturate while a busy
# program takes the other core: each time records + lost = issued = what the device itself counts as
# completed. Prints a line a run; exits 1 when one does not add up.
# Usage: IOREEL=build/release/ioreel tests/bench/capture_accounting.sh [RUNS] [SECONDS] [ARGUMENTS...]
set -u
IOREEL=${IOREEL:-build/release/ioreel}
IOREEL_SOURCE=${IOREEL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
source "$IOREEL_SOURCE/tests/cli/lib.sh"
runs=${1:-10}
seconds=${2:-6}
shift $(($# < 2 ? $# : 2))
need_loop
need_bpf
need_command fio
need_command jq
make_loop 1G filled
disk=$(basename "$loop_device")
busy=
trap '[ -z "$busy" ] || kill "$busy" 2>/dev/null; clean_up' EXIT

completed() { awk '{ print $1 + $5 + $12 + $16 }' "/sys/block/$disk/stat"; }

printf '%3s %10s %10s %8s %8s %8s %10s %10s %5s  %s\n' run issued records lost unseen 'buf full' \
    'device' IOPS open 'adds up'
for ((run = 1; run <= runs; run++)); do
    sleep 0.3
    before=$(completed)
    "$IOREEL" capture -d "$loop_device" -o "$scratch/run.reel" --overwrite-output --json -q "$@" \
        >"$scratch/run.json" 2>/dev/null &
    capture=$!
    sleep 0.7
    while :; do :; done &
    busy=$!
    iops=$(fio --name=load --filename="$loop_device" --ioengine=io_uring --direct=1 --rw=randread --bs=4k \
        --iodepth=32 --numjobs=2 --group_reporting --runtime="$seconds" --time_based \
        --output-format=json 2>/dev/null | jq '.jobs[0].read.iops | floor')
    kill "$busy"
    wait "$busy" 2>/dev/null
    busy=
    kill -INT "$capture"
    wait "$capture"
    after=$(completed)
    read -r issued records lost unseen full open empty < <(jq -r \
        '"\(.issued) \(.records) \(.lost) \(.lost_completion_unseen) \(.lost_buffer_full) \(.open) \(.empty_flushes)"' \
        "$scratch/run.json")
    verdict=yes
    [ $((records + lost)) = "$issued" ] && [ $((issued + empty)) = $((after - before)) ] || verdict=NO
    [ "$("$IOREEL" info --json "$scratch/run.reel" | jq .records)" = "$records" ] || verdict="NO (file)"
    printf '%3d %10d %10d %8d %8d %8d %10d %10d %5d  %s\n' "$run" "$issued" "$records" "$lost" \
        "$unseen" "$full" $((after - before)) "$iops" "$open" "$verdict"
    check "run $run adds up" "$verdict" yes
done
finish
