#!/usr/bin/env bash
# What a capture costs the workload that it watches: IOPS of one fio job (4 KiB random reads, queue
# depth 32, a loop device over memory) without and with a capture, in turn, and what the capture itself
# takes. Prints the median of the ratios of neighbouring runs; absolutes depend on the machine.
# Usage: IOREEL=build/release/ioreel tests/bench/capture_cost.sh [ROUNDS] [SECONDS]
set -u
IOREEL=${IOREEL:-build/release/ioreel}
IOREEL_SOURCE=${IOREEL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
source "$IOREEL_SOURCE/tests/cli/lib.sh"
rounds=${1:-7}
seconds=${2:-3}
need_loop
need_bpf
need_command fio
need_command jq
make_loop 1G filled
ticks_per_s=$(getconf CLK_TCK)

load() { # prints IOPS
    fio --name=load --filename="$loop_device" --ioengine=io_uring --direct=1 --rw=randread --bs=4k \
        --iodepth=32 --runtime="$seconds" --time_based --output-format=json 2>/dev/null |
        jq '.jobs[0].read.iops'
}

# measure NAME ARGUMENTS...: one capture around one load, a line to $scratch/NAME:
# ratio iops cpu_us_per_io bytes_per_io lost_ppm
measure() {
    local name=$1 plain with pid ticks
    shift
    plain=$(load)
    "$IOREEL" capture -d "$loop_device" -o "$scratch/cost.reel" --overwrite-output --json -q "$@" \
        >"$scratch/cost.json" 2>/dev/null &
    pid=$!
    sleep 0.7
    with=$(load)
    # utime and stime, in ticks
    ticks=$(awk '{ print $14 + $15 }' "/proc/$pid/stat")
    kill -INT "$pid"
    wait "$pid"
    jq -r --argjson p "$plain" --argjson w "$with" --argjson us "$((ticks * 1000000 / ticks_per_s))" \
        '"\($w / $p) \($w) \($us / .issued) \(.file_bytes / .records) \(.lost * 1e6 / .issued)"' \
        "$scratch/cost.json" >>"$scratch/$name"
}

median() { sort -n | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

column() { cut -d' ' -f"$2" "$scratch/$1" | median; }

load >/dev/null # warm up
for ((i = 0; i < rounds; i++)); do
    plain=$(load)
    again=$(load)
    echo "$(awk "BEGIN { print $again / $plain }") $again 0 0 0" >>"$scratch/none"
    measure slots
    measure slots_request_time --request-time
    measure hash --accounting hash
    measure hash_request_time --accounting hash --request-time
done
printf '%-20s %10s %10s %14s %10s %9s   (medians of %d rounds)\n' capture IOPS 'IOPS lost' 'CPU us per I/O' \
    'bytes/I/O' 'lost ppm' "$rounds"
for name in none slots slots_request_time hash hash_request_time; do
    printf '%-20s %10.0f %9.1f%% %14.3f %10.2f %9.1f\n' "$name" "$(column $name 2)" \
        "$(awk "BEGIN { print (1 - $(column $name 1)) * 100 }")" "$(column $name 3)" \
        "$(column $name 4)" "$(column $name 5)"
done
