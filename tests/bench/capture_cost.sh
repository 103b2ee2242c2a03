#!/usr/bin/env bash
# What a capture costs the workload that it watches: IOPS of one fio job (4 KiB random reads, queue
# depth 32, a loop device over memory) with a capture, over the mean of the runs without one just before
# and just after. Beside it the capture's own CPU time, and what its programs take in the kernel for
# each I/O, by the kernel's own count (with its clock reads in it) in a pass of its own. The row "filter"
# watches another, idle device: what is left when nothing is accounted. Medians; absolutes depend on
# the machine.
# Usage: IOREEL=build/release/ioreel tests/bench/capture_cost.sh [ROUNDS] [SECONDS]
set -u
IOREEL=${IOREEL:-build/release/ioreel}
IOREEL_SOURCE=${IOREEL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
source "$IOREEL_SOURCE/tests/cli/lib.sh"
rounds=${1:-11}
seconds=${2:-1}
need_loop
need_bpf
need_command fio
need_command jq
need_command bpftool
make_loop 16M
idle_device=$loop_device
make_loop 1G filled
ticks_per_s=$(getconf CLK_TCK)
stats=$(sysctl -n kernel.bpf_stats_enabled)
trap 'sysctl -qw kernel.bpf_stats_enabled="$stats"; clean_up' EXIT

load() { # prints IOPS
    fio --name=load --filename="$loop_device" --ioengine=io_uring --direct=1 --rw=randread --bs=4k \
        --iodepth=32 --runtime="$seconds" --time_based --output-format=json 2>/dev/null |
        jq '.jobs[0].read.iops'
}

start() { # ARGUMENTS...: a capture that records, its pid in $capture
    rm -f "$scratch/cost.talk"
    "$IOREEL" capture -d "${watched:-$loop_device}" -o "$scratch/cost.reel" --overwrite-output --json "$@" \
        >"$scratch/cost.json" 2>"$scratch/cost.talk" &
    capture=$!
    until grep -qs recording "$scratch/cost.talk"; do sleep 0.05; done
}

stop() {
    kill -INT "$capture"
    wait "$capture"
}

cpu_ticks() { awk '{ print $14 + $15 }' "/proc/$capture/stat"; }

# measure NAME ARGUMENTS...: a line to $scratch/NAME: ratio iops cpu_us bytes lost_ppm
measure() {
    local name=$1 with after ticks
    shift
    start "$@"
    ticks=$(cpu_ticks)
    with=$(load)
    ticks=$(($(cpu_ticks) - ticks))
    stop
    after=$(load)
    jq -r --argjson p "$plain" --argjson q "$after" --argjson w "$with" \
        --argjson us "$((ticks * 1000000 / ticks_per_s))" \
        '"\(2 * $w / ($p + $q)) \($w) " + if .issued == 0 then "0 0 0" else
         "\($us / .issued) \(.file_bytes / .records) \(.lost * 1e6 / .issued)" end' \
        "$scratch/cost.json" >>"$scratch/$name"
    plain=$after
}

# programs NAME ARGUMENTS...: ns in each program for each I/O, a line to $scratch/NAME.programs
programs() {
    local name=$1 ids
    shift
    sysctl -qw kernel.bpf_stats_enabled=1
    start "$@"
    load >/dev/null
    bpftool prog show -j >"$scratch/programs.json"
    ids=$(awk '$1 == "prog_id:" { print $2 }' /proc/"$capture"/fdinfo/* | sort -un | paste -sd,)
    stop
    sysctl -qw kernel.bpf_stats_enabled="$stats"
    jq -r --argjson ids "[$ids]" \
        'def ns(n): [.[] | select(.name == n and (.id | IN($ids[])) and .run_cnt != null and .run_cnt > 0) | .run_time_ns / .run_cnt] | add // 0;
         "\(ns("on_bio_queue")) \(ns("on_issue")) \(ns("on_complete"))"' \
        "$scratch/programs.json" >>"$scratch/$name.programs"
}

median() { sort -n | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

column() { cut -d' ' -f"$2" "$scratch/$1" | median; }

names=(filter slots slots_request_time hash hash_request_time)
arguments=("" "" "--request-time" "--accounting hash" "--accounting hash --request-time")
load >/dev/null # warm up
plain=$(load)
for ((i = 0; i < rounds; i++)); do
    after=$(load)
    echo "$(awk "BEGIN { print $after / $plain }") $after 0 0 0" >>"$scratch/none"
    echo "0 0 0" >>"$scratch/none.programs"
    plain=$after
    for ((n = 0; n < ${#names[@]}; n++)); do
        watched=
        [ "${names[n]}" != filter ] || watched=$idle_device
        # shellcheck disable=SC2086
        measure "${names[n]}" ${arguments[n]}
        # shellcheck disable=SC2086
        [ $((i % 3)) != 0 ] || programs "${names[n]}" ${arguments[n]}
    done
done
printf 'medians of %d rounds; ns for each I/O in the programs: bio queued, issued, completed\n' "$rounds"
printf '%-20s %9s %9s %9s %10s %9s %6s %6s %6s\n' capture IOPS 'IOPS lost' 'CPU us/IO' 'bytes/IO' \
    'lost ppm' bio issue done
for name in none "${names[@]}"; do
    printf '%-20s %9.0f %8.1f%% %9.3f %10.2f %9.1f %6.0f %6.0f %6.0f\n' "$name" "$(column "$name" 2)" \
        "$(awk "BEGIN { print (1 - $(column "$name" 1)) * 100 }")" "$(column "$name" 3)" \
        "$(column "$name" 4)" "$(column "$name" 5)" "$(column "$name.programs" 1)" \
        "$(column "$name.programs" 2)" "$(column "$name.programs" 3)"
done
